//! What the Gateway API wants the fields to be that are read here.

use crate::object::Object;
use crate::topology::api::GATEWAY_API;

/// What a value must be.
pub enum Shape {
    Text,
    Hostname,
    /// One of these words; and what becomes of others.
    Word(&'static [&'static str], &'static str),
    /// A whole number from one to another.
    Number(i64, i64),
    Object(&'static [Field]),
    /// An object whose `value` is a path, unless its `type` makes it a pattern.
    PathMatch(&'static [Field]),
    List(&'static Shape),
    /// A list of objects, each with a name of its own.
    Sections(&'static [Field]),
}

pub struct Field(pub &'static str, pub Shape);

const PORT: Shape = Shape::Number(1, 65535);
const FROM: &[&str] = &["All", "Same", "Selector", "None"];
const EXACT_OR_PATTERN: Shape = Shape::Word(&["Exact", "RegularExpression"], "it counts as `Exact`");

const REFERENCE: &[Field] = &[
    Field("group", Shape::Text),
    Field("kind", Shape::Text),
    Field("namespace", Shape::Text),
    Field("name", Shape::Text),
    Field("sectionName", Shape::Text),
    Field("port", PORT),
];

const LISTENER: &[Field] = &[
    Field("name", Shape::Text),
    Field("port", PORT),
    Field("protocol", Shape::Text),
    Field("hostname", Shape::Hostname),
    Field(
        "allowedRoutes",
        Shape::Object(&[
            Field("namespaces", Shape::Object(&[Field("from", Shape::Word(FROM, "it counts as `Same`"))])),
            Field("kinds", Shape::List(&Shape::Object(&[Field("group", Shape::Text), Field("kind", Shape::Text)]))),
        ]),
    ),
    Field(
        "tls",
        Shape::Object(&[
            Field("mode", Shape::Word(&["Terminate", "Passthrough"], "it counts as `Terminate`")),
            Field("certificateRefs", Shape::List(&Shape::Object(REFERENCE))),
        ]),
    ),
];

const GATEWAY: &[Field] = &[
    Field("gatewayClassName", Shape::Text),
    Field(
        "allowedListeners",
        Shape::Object(&[Field(
            "namespaces",
            Shape::Object(&[Field("from", Shape::Word(FROM, "it counts as `None`"))]),
        )]),
    ),
    Field("listeners", Shape::Sections(LISTENER)),
];

const LISTENER_SET: &[Field] =
    &[Field("parentRef", Shape::Object(REFERENCE)), Field("listeners", Shape::Sections(LISTENER))];

const CONDITIONS: Shape = Shape::List(&Shape::Object(&[
    Field("type", EXACT_OR_PATTERN),
    Field("name", Shape::Text),
    Field("value", Shape::Text),
]));

const FILTERS: Shape = Shape::List(&Shape::Object(&[
    Field("type", Shape::Text),
    Field("requestMirror", Shape::Object(&[Field("backendRef", Shape::Object(REFERENCE))])),
]));

const BACKENDS: Shape = Shape::List(&Shape::Object(&[
    Field("group", Shape::Text),
    Field("kind", Shape::Text),
    Field("namespace", Shape::Text),
    Field("name", Shape::Text),
    Field("port", PORT),
    Field("weight", Shape::Number(0, 1_000_000)),
    Field("filters", FILTERS),
]));

const HTTP_MATCH: &[Field] = &[
    Field(
        "path",
        Shape::PathMatch(&[
            Field("type", Shape::Word(&["Exact", "PathPrefix", "RegularExpression"], "it counts as `PathPrefix`")),
            Field("value", Shape::Text),
        ]),
    ),
    Field(
        "method",
        Shape::Word(
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
        Shape::Object(&[Field("type", EXACT_OR_PATTERN), Field("service", Shape::Text), Field("method", Shape::Text)]),
    ),
    Field("headers", CONDITIONS),
];

const PARENTS: Field = Field("parentRefs", Shape::List(&Shape::Object(REFERENCE)));
const HOSTNAMES: Field = Field("hostnames", Shape::List(&Shape::Hostname));

const HTTP_ROUTE: &[Field] = &[
    PARENTS,
    HOSTNAMES,
    Field(
        "rules",
        Shape::Sections(&[
            Field("name", Shape::Text),
            Field("matches", Shape::List(&Shape::Object(HTTP_MATCH))),
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
        Shape::Sections(&[
            Field("name", Shape::Text),
            Field("matches", Shape::List(&Shape::Object(GRPC_MATCH))),
            Field("filters", FILTERS),
            Field("backendRefs", BACKENDS),
        ]),
    ),
];

const OTHER_ROUTE: &[Field] = &[
    PARENTS,
    HOSTNAMES,
    Field("rules", Shape::Sections(&[Field("name", Shape::Text), Field("backendRefs", BACKENDS)])),
];

const SERVICE: &[Field] =
    &[Field("ports", Shape::List(&Shape::Object(&[Field("name", Shape::Text), Field("port", PORT)])))];

/// The fields of an object's spec.
pub fn fields(object: &Object) -> Option<&'static [Field]> {
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
