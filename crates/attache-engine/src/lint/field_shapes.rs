//! The fields of Gateway API objects that the engine reads, and the values that the API server accepts for them.

use crate::object::Object;
use crate::topology::api::GATEWAY_API;

/// The values that a field accepts.
pub enum FieldShape {
    /// Any value.
    Any,
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
            Field(
                "namespaces",
                FieldShape::Object(&[
                    Field("from", FieldShape::Word(FROM, "it counts as `Same`")),
                    Field("selector", FieldShape::Any),
                ]),
            ),
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
            Field("frontendValidation", FieldShape::Any),
            Field("options", FieldShape::Any),
        ]),
    ),
];

const GATEWAY: &[Field] = &[
    Field("gatewayClassName", FieldShape::Text),
    Field(
        "allowedListeners",
        FieldShape::Object(&[Field(
            "namespaces",
            FieldShape::Object(&[
                Field("from", FieldShape::Word(FROM, "it counts as `None`")),
                Field("selector", FieldShape::Any),
            ]),
        )]),
    ),
    Field("addresses", FieldShape::Any),
    Field("backendTLS", FieldShape::Any),
    Field("infrastructure", FieldShape::Any),
    Field("tls", FieldShape::Any),
    Field("defaultScope", FieldShape::Any),
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
    Field("requestHeaderModifier", FieldShape::Any),
    Field("responseHeaderModifier", FieldShape::Any),
    Field(
        "requestMirror",
        FieldShape::Object(&[
            Field("backendRef", FieldShape::Object(REFERENCE)),
            Field("percent", FieldShape::Any),
            Field("fraction", FieldShape::Any),
        ]),
    ),
    Field("requestRedirect", FieldShape::Any),
    Field("urlRewrite", FieldShape::Any),
    Field("cors", FieldShape::Any),
    Field("externalAuth", FieldShape::Any),
    Field("extensionRef", FieldShape::Any),
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

const TIMEOUTS: FieldShape =
    FieldShape::Object(&[Field("request", FieldShape::Any), Field("backendRequest", FieldShape::Any)]);

const RETRY: FieldShape = FieldShape::Object(&[
    Field("codes", FieldShape::Any),
    Field("attempts", FieldShape::Any),
    Field("backoff", FieldShape::Any),
]);

const PARENTS: Field = Field("parentRefs", FieldShape::List(&FieldShape::Object(REFERENCE)));
const HOSTNAMES: Field = Field("hostnames", FieldShape::List(&FieldShape::Hostname));

const HTTP_ROUTE: &[Field] =
    &[PARENTS, HOSTNAMES, Field("rules", FieldShape::NamedList(&rule_with(&FieldShape::Object(HTTP_MATCH))))];

const GRPC_ROUTE: &[Field] =
    &[PARENTS, HOSTNAMES, Field("rules", FieldShape::NamedList(&rule_with(&FieldShape::Object(GRPC_MATCH))))];

/// A rule whose matches have this shape.
const fn rule_with(matches: &'static FieldShape) -> [Field; 7] {
    [
        Field("timeouts", TIMEOUTS),
        Field("retry", RETRY),
        Field("sessionPersistence", FieldShape::Any),
        Field("name", FieldShape::Text),
        Field("matches", FieldShape::List(matches)),
        Field("filters", FILTERS),
        Field("backendRefs", BACKENDS),
    ]
}

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
