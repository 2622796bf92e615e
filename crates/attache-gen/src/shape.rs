//! The shape of the manifests to generate, which is also the arguments of the command line.

use std::str::FromStr;

use clap::{Args, ValueEnum};

/// A policy on each target of a level.
pub const ALL: usize = usize::MAX;

/// The number of objects of each kind, and how they are linked.
#[derive(Args, Clone, Debug)]
pub struct ManifestShape {
    /// A number that selects other manifests of the same shape
    #[arg(long, default_value_t = ManifestShape::default().seed)]
    pub seed: u64,
    /// Gateways
    #[arg(long, default_value_t = ManifestShape::default().gateways)]
    pub gateways: usize,
    /// Listeners of each gateway
    #[arg(long, default_value_t = ManifestShape::default().listeners)]
    pub listeners: usize,
    /// Routes
    #[arg(long, default_value_t = ManifestShape::default().routes)]
    pub routes: usize,
    /// Gateways that each route names as its parents
    #[arg(long, default_value_t = ManifestShape::default().parents)]
    pub parents: usize,
    /// Percentage of routes that also name a listener
    #[arg(long, default_value_t = ManifestShape::default().pinned)]
    pub pinned: usize,
    /// Rules of each route
    #[arg(long, default_value_t = ManifestShape::default().rules)]
    pub rules: usize,
    /// Services that rules refer to, rounded up to the same number in each namespace; 0 for rules without backends
    #[arg(long, default_value_t = ManifestShape::default().services)]
    pub services: usize,
    /// Namespaces of routes and services
    #[arg(long, default_value_t = ManifestShape::default().namespaces)]
    pub namespaces: usize,
    /// Different hostnames of routes; 0 for routes without hostnames
    #[arg(long, default_value_t = ManifestShape::default().hostnames)]
    pub hostnames: usize,
    /// Targets that have policies: LEVEL=COUNT or LEVEL=all, where LEVEL is gateway, listener, route, rule,
    /// service or namespace
    #[arg(long, value_delimiter = ',', default_value = "gateway=all,route=all")]
    pub policies: Vec<PolicyCount>,
    /// Rules of each policy
    #[arg(long, default_value_t = ManifestShape::default().policy_rules)]
    pub policy_rules: usize,
    /// Blocks of policies, of which each policy has one: bare, or defaults or overrides with :atomic, :merge or :patch
    #[arg(long, value_delimiter = ',', default_value = "defaults:atomic")]
    pub blocks: Vec<PolicyBlock>,
    /// Further policies on the target of each policy
    #[arg(long, default_value_t = ManifestShape::default().duplicates)]
    pub duplicates: usize,
    /// Policy kinds; each has all of these policies
    #[arg(long, default_value_t = ManifestShape::default().kinds, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub kinds: u8,
}

impl ManifestShape {
    /// Ten gateways, a policy on each of them and on one route in ten, and a service for ten routes.
    pub fn one_in_ten(routes: usize) -> ManifestShape {
        let policies = [(PolicyLevel::Gateway, ALL), (PolicyLevel::Route, routes / 10)];
        ManifestShape {
            gateways: 10,
            routes,
            services: routes / 10,
            policies: policies.map(|(level, count)| PolicyCount { level, count }).to_vec(),
            ..ManifestShape::default()
        }
    }
}

impl Default for ManifestShape {
    fn default() -> Self {
        ManifestShape {
            seed: 0,
            gateways: 1,
            listeners: 1,
            routes: 100,
            parents: 1,
            pinned: 0,
            rules: 2,
            services: 100,
            namespaces: 1,
            hostnames: 0,
            policies: [PolicyLevel::Gateway, PolicyLevel::Route]
                .map(|level| PolicyCount { level, count: ALL })
                .to_vec(),
            policy_rules: 2,
            blocks: vec![PolicyBlock::Defaults(BlockStrategy::Atomic)],
            duplicates: 0,
            kinds: 1,
        }
    }
}

/// The level of the targets of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)] // The names say it.
pub enum PolicyLevel {
    Namespace,
    Gateway,
    Listener,
    Route,
    Rule,
    Service,
}

/// The number of targets of a level that have a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyCount {
    /// The level.
    pub level: PolicyLevel,
    /// The number of targets; [`ALL`] for every target.
    pub count: usize,
}

impl FromStr for PolicyCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (level, count) = text.split_once('=').ok_or("use LEVEL=COUNT, as in route=100")?;
        let level = PolicyLevel::from_str(level, false)?;
        let count = match count {
            "all" => ALL,
            count => count.parse().map_err(|_| format!("`{count}` is neither a number nor `all`"))?,
        };
        Ok(PolicyCount { level, count })
    }
}

/// The block of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyBlock {
    /// Bare rules.
    Bare,
    /// `defaults`.
    Defaults(BlockStrategy),
    /// `overrides`.
    Overrides(BlockStrategy),
}

/// The merge strategy of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlockStrategy {
    /// `atomic`.
    Atomic,
    /// `merge`.
    Merge,
    /// `patch`.
    Patch,
}

impl BlockStrategy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlockStrategy::Atomic => "atomic",
            BlockStrategy::Merge => "merge",
            BlockStrategy::Patch => "patch",
        }
    }
}

impl FromStr for PolicyBlock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (block, strategy) = text.split_once(':').unwrap_or((text, "atomic"));
        let strategy = BlockStrategy::from_str(strategy, false)?;
        match block {
            "bare" if text == "bare" => Ok(PolicyBlock::Bare),
            "defaults" => Ok(PolicyBlock::Defaults(strategy)),
            "overrides" => Ok(PolicyBlock::Overrides(strategy)),
            _ => Err("use bare, defaults:STRATEGY or overrides:STRATEGY".to_owned()),
        }
    }
}
