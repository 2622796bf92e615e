//! The fields of Gateway API objects that the engine reads, and the values that the API server accepts for them.

use crate::object::Object;
use crate::topology::api::GATEWAY_API;

/// The values that a field accepts.
pub enum FieldShape {
    /// Any string.
    Text,
    /// A DNS name.
    Hostname,
    /// One of these words, and how other words are read.
    Word(&'static [&'static str], &'static str),
    /// A whole number in this range.
    Number(i64, i64),
    /// An object with these fields.
    Object(&'static [Field]),
    /// A path match: its `value` is a path, or a regular expression if `type` says so.
    PathMatch(&'static [Field]),
    /// A list of such values.
    List(&'static FieldShape),
    /// A list of objects with unique names.
    NamedList(&'static [Field]),
}

/// A field and the values that it accepts.
pub struct Field(pub &'static str, pub FieldShape);

const PORT: FieldShape = FieldShape::Number(1, 65535);
const FROM: &[&str] = &["All", "Same", "Selector", "None"];
const EXACT_OR_PATTERN: FieldShape = FieldShape::Word(&["Exact", "RegularExpression"], "it counts as `Exact`");

const REFERENCE: &[Field] = &[
    Field("group", FieldShape::Text),
    Field("kind", FieldShape::Text),
    Field("namespace", FieldShape::Text),
    Field("name", FieldShape::Text),
    Field("sectionName", FieldShape::Text),
    Field("port", PORT),
];

const LISTENER: &[Field] = &[
    Field("name", FieldShape::Text),
    Field("port", PORT),
    Field("protocol", FieldShape::Text),
    Field("hostname", FieldShape::Hostname),
    Field(
        "allowedRoutes",
        FieldShape::Object(&[
            Field("namespaces", FieldShape::Object(&[Field("from", FieldShape::Word(FROM, "it counts as `Same`"))])),
            Field(
                "kinds",
                FieldShape::List(&FieldShape::Object(&[
                    Field("group", FieldShape::Text),
                    Field("kind", FieldShape::Text),
                ])),
            ),
        ]),
    ),
    Field(
        "tls",
        FieldShape::Object(&[
            Field("mode", FieldShape::Word(&["Terminate", "Passthrough"], "it counts as `Terminate`")),
            Field("certificateRefs", FieldShape::List(&FieldShape::Object(REFERENCE))),
        ]),
    ),
];

const GATEWAY: &[Field] = &[
    Field("gatewayClassName", FieldShape::Text),
    Field(
        "allowedListeners",
        FieldShape::Object(&[Field(
            "namespaces",
            FieldShape::Object(&[Field("from", FieldShape::Word(FROM, "it counts as `None`"))]),
        )]),
    ),
    Field("listeners", FieldShape::NamedList(LISTENER)),
];

const LISTENER_SET: &[Field] =
    &[Field("parentRef", FieldShape::Object(REFERENCE)), Field("listeners", FieldShape::NamedList(LISTENER))];

const CONDITIONS: FieldShape = FieldShape::List(&FieldShape::Object(&[
    Field("type", EXACT_OR_PATTERN),
    Field("name", FieldShape::Text),
    Field("value", FieldShape::Text),
]));

const FILTERS: FieldShape = FieldShape::List(&FieldShape::Object(&[
    Field("type", FieldShape::Text),
    Field("requestMirror", FieldShape::Object(&[Field("backendRef", FieldShape::Object(REFERENCE))])),
]));

const BACKENDS: FieldShape = FieldShape::List(&FieldShape::Object(&[
    Field("group", FieldShape::Text),
    Field("kind", FieldShape::Text),
    Field("namespace", FieldShape::Text),
    Field("name", FieldShape::Text),
    Field("port", PORT),
    Field("weight", FieldShape::Number(0, 1_000_000)),
    Field("filters", FILTERS),
]));

const HTTP_MATCH: &[Field] = &[
    Field(
        "path",
        FieldShape::PathMatch(&[
            Field("type", FieldShape::Word(&["Exact", "PathPrefix", "RegularExpression"], "it counts as `PathPrefix`")),
            Field("value", FieldShape::Text),
        ]),
    ),
    Field(
        "method",
        FieldShape::Word(
            &["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"],
            "no request has that method",
        ),
    ),
    Field("headers", CONDITIONS),
    Field("queryParams", CONDITIONS),
];

const GRPC_MATCH: &[Field] = &[
    Field(
        "method",
        FieldShape::Object(&[
            Field("type", EXACT_OR_PATTERN),
            Field("service", FieldShape::Text),
            Field("method", FieldShape::Text),
        ]),
    ),
    Field("headers", CONDITIONS),
];

const PARENTS: Field = Field("parentRefs", FieldShape::List(&FieldShape::Object(REFERENCE)));
const HOSTNAMES: Field = Field("hostnames", FieldShape::List(&FieldShape::Hostname));

const HTTP_ROUTE: &[Field] = &[
    PARENTS,
    HOSTNAMES,
    Field(
        "rules",
        FieldShape::NamedList(&[
            Field("name", FieldShape::Text),
            Field("matches", FieldShape::List(&FieldShape::Object(HTTP_MATCH))),
            Field("filters", FILTERS),
            Field("backendRefs", BACKENDS),
        ]),
    ),
];

const GRPC_ROUTE: &[Field] = &[
    PARENTS,
    HOSTNAMES,
    Field(
        "rules",
        FieldShape::NamedList(&[
            Field("name", FieldShape::Text),
            Field("matches", FieldShape::List(&FieldShape::Object(GRPC_MATCH))),
            Field("filters", FILTERS),
            Field("backendRefs", BACKENDS),
        ]),
    ),
];

const OTHER_ROUTE: &[Field] = &[
    PARENTS,
    HOSTNAMES,
    Field("rules", FieldShape::NamedList(&[Field("name", FieldShape::Text), Field("backendRefs", BACKENDS)])),
];

const SERVICE: &[Field] =
    &[Field("ports", FieldShape::List(&FieldShape::Object(&[Field("name", FieldShape::Text), Field("port", PORT)])))];

/// The fields of the `spec` of an object.
pub fn spec_fields(object: &Object) -> Option<&'static [Field]> {
    Some(match (object.id.group.as_str(), object.id.kind.as_str()) {
        (GATEWAY_API, "Gateway") => GATEWAY,
        (GATEWAY_API, "ListenerSet") => LISTENER_SET,
        (GATEWAY_API, "HTTPRoute") => HTTP_ROUTE,
        (GATEWAY_API, "GRPCRoute") => GRPC_ROUTE,
        (GATEWAY_API, "TLSRoute" | "TCPRoute" | "UDPRoute") => OTHER_ROUTE,
        ("", "Service") => SERVICE,
        _ => return None,
    })
}
