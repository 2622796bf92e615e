//! The precedence of rules that match a request, as the Gateway API defines it.

use std::fmt;

/// The specificity of a match: one number for each criterion, the most important criterion first. The greater rank
/// wins.
pub type MatchRank = [usize; 5];

/// The criterion by which the chosen rule takes precedence. Its `Display` completes the sentence "the chosen rule …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precedence {
    /// It has an exact hostname, and the other rule has none or a shorter one.
    ExactHostname,
    /// Its hostname is longer.
    LongerHostname,
    /// Its path match is of a more specific type: `Exact` before `RegularExpression` before `PathPrefix`.
    PathType,
    /// Its path is longer.
    LongerPath,
    /// It matches the method.
    Method,
    /// It matches more headers.
    MoreHeaders,
    /// It matches more query parameters.
    MoreQueryParams,
    /// Its gRPC method match is of a more specific type.
    GrpcMethodType,
    /// Its gRPC service name is longer.
    LongerGrpcService,
    /// Its gRPC method name is longer.
    LongerGrpcMethod,
    /// It comes first in the same route.
    FirstInRoute,
    /// Its route is older.
    OlderRoute,
    /// Its route comes first in alphabetical order.
    FirstByName,
}

/// The criteria of a hostname's rank.
pub const HOSTNAME_CRITERIA: [Precedence; 2] = [Precedence::ExactHostname, Precedence::LongerHostname];

/// The criteria of the rank of an HTTP match.
pub const HTTP_CRITERIA: [Precedence; 5] = [
    Precedence::PathType,
    Precedence::LongerPath,
    Precedence::Method,
    Precedence::MoreHeaders,
    Precedence::MoreQueryParams,
];

/// The criteria of the rank of a gRPC match. The last number of that rank is always 0.
pub const GRPC_CRITERIA: [Precedence; 5] = [
    Precedence::GrpcMethodType,
    Precedence::LongerGrpcService,
    Precedence::LongerGrpcMethod,
    Precedence::MoreHeaders,
    Precedence::MoreQueryParams,
];

impl fmt::Display for Precedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precedence::ExactHostname => "has a longer exact hostname",
            Precedence::LongerHostname => "has a longer hostname",
            Precedence::PathType => "has a more specific type of path match",
            Precedence::LongerPath => "has a longer path",
            Precedence::Method => "matches the method",
            Precedence::MoreHeaders => "matches more headers",
            Precedence::MoreQueryParams => "matches more query parameters",
            Precedence::GrpcMethodType => "has a more specific type of method match",
            Precedence::LongerGrpcService => "has a longer service name",
            Precedence::LongerGrpcMethod => "has a longer method name",
            Precedence::FirstInRoute => "comes first in the route",
            Precedence::OlderRoute => "belongs to an older route",
            Precedence::FirstByName => "belongs to a route that comes first by name",
        })
    }
}
