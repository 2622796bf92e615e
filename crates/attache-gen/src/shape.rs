//! The shape of the manifests to generate, which is also the arguments of the command line.

use std::str::FromStr;

use clap::{Args, ValueEnum};

/// A policy on each target of a level.
pub const ALL: usize = usize::MAX;

#[derive(Args, Clone, Debug)]
pub struct Shape {
    /// Other manifests of the same shape
    #[arg(long, default_value_t = Shape::default().seed)]
    pub seed: u64,
    #[arg(long, default_value_t = Shape::default().gateways)]
    pub gateways: usize,
    /// Listeners of each gateway
    #[arg(long, default_value_t = Shape::default().listeners)]
    pub listeners: usize,
    #[arg(long, default_value_t = Shape::default().routes)]
    pub routes: usize,
    /// Gateways that each route names as its parents
    #[arg(long, default_value_t = Shape::default().parents)]
    pub parents: usize,
    /// Percentage of routes that name a listener too
    #[arg(long, default_value_t = Shape::default().pinned)]
    pub pinned: usize,
    /// Rules of each route
    #[arg(long, default_value_t = Shape::default().rules)]
    pub rules: usize,
    /// Services that rules send to, rounded up to as many in each namespace; 0 for rules without backends
    #[arg(long, default_value_t = Shape::default().services)]
    pub services: usize,
    /// Namespaces of routes and services
    #[arg(long, default_value_t = Shape::default().namespaces)]
    pub namespaces: usize,
    /// Different hostnames of routes; 0 for routes without
    #[arg(long, default_value_t = Shape::default().hostnames)]
    pub hostnames: usize,
    /// Targets that have policies: LEVEL=COUNT or LEVEL=all, where LEVEL is gateway, listener, route, rule,
    /// service or namespace
    #[arg(long, value_delimiter = ',', default_value = "gateway=all,route=all")]
    pub policies: Vec<Policies>,
    /// Rules of each policy
    #[arg(long, default_value_t = Shape::default().policy_rules)]
    pub policy_rules: usize,
    /// Blocks that policies have, one of these each: bare, or defaults or overrides with :atomic, :merge or :patch
    #[arg(long, value_delimiter = ',', default_value = "defaults:atomic")]
    pub blocks: Vec<Block>,
    /// More policies on the same target, for each
    #[arg(long, default_value_t = Shape::default().duplicates)]
    pub duplicates: usize,
    /// Kinds of policies; each has all of them
    #[arg(long, default_value_t = Shape::default().kinds, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub kinds: u8,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
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
            policies: [Level::Gateway, Level::Route].map(|level| Policies { level, count: ALL }).to_vec(),
            policy_rules: 2,
            blocks: vec![Block::Defaults(Strategy::Atomic)],
            duplicates: 0,
            kinds: 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    Namespace,
    Gateway,
    Listener,
    Route,
    Rule,
    Service,
}

/// How many targets of a level have a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    pub level: Level,
    pub count: usize,
}

impl FromStr for Policies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (level, count) = text.split_once('=').ok_or("say LEVEL=COUNT, as in route=100")?;
        let level = Level::from_str(level, false)?;
        let count = match count {
            "all" => ALL,
            count => count.parse().map_err(|_| format!("`{count}` is neither a number nor `all`"))?,
        };
        Ok(Policies { level, count })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Bare,
    Defaults(Strategy),
    Overrides(Strategy),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    Atomic,
    Merge,
    Patch,
}

impl Strategy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Strategy::Atomic => "atomic",
            Strategy::Merge => "merge",
            Strategy::Patch => "patch",
        }
    }
}

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (block, strategy) = text.split_once(':').unwrap_or((text, "atomic"));
        let strategy = Strategy::from_str(strategy, false)?;
        match block {
            "bare" if text == "bare" => Ok(Block::Bare),
            "defaults" => Ok(Block::Defaults(strategy)),
            "overrides" => Ok(Block::Overrides(strategy)),
            _ => Err("say bare, defaults:STRATEGY or overrides:STRATEGY".to_owned()),
        }
    }
}
