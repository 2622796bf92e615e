//! The options that every command takes.

use std::path::PathBuf;
use std::time::Duration;

use attache_answers::ObjectQuery;
use attache_cluster::{ClientOptions, ClusterError, Unseen};
use attache_engine::Problem;
use attache_engine::kinds::{Controllers, Settings};
use clap::{Args, ColorChoice};

use crate::failure::Failure;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub struct Global {
    /// A file or folder of manifests, `-` for standard input; can be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", global = true)]
    pub files: Vec<PathBuf>,
    /// Only objects in this namespace; in a cluster, by default that of the context
    #[arg(short, long, value_name = "NS", global = true)]
    pub namespace: Option<String>,
    /// Objects in all namespaces
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Treat CRDs that have a `targetRef` but no policy label as policies
    #[arg(long, global = true)]
    pub infer_unlabelled: bool,
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
    /// No warnings and no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(flatten)]
    pub cluster: ClusterArguments,
}

/// The cluster and the user: the flags of kubectl.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options for the cluster, which is read if there is no `-f`")]
pub struct ClusterArguments {
    /// The kubeconfig, instead of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    context: Option<String>,
    /// The cluster of the kubeconfig
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    cluster: Option<String>,
    /// The user of the kubeconfig
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    user: Option<String>,
    /// The user to impersonate
    #[arg(long = "as", value_name = "USER", global = true, hide_short_help = true)]
    impersonate: Option<String>,
    /// A group to impersonate; can be repeated
    #[arg(long = "as-group", value_name = "GROUP", global = true, hide_short_help = true)]
    impersonate_groups: Vec<String>,
    /// The timeout of a single request, as in `10s` or `2m`; 0 is no timeout
    #[arg(long, value_name = "DURATION", value_parser = duration, global = true, hide_short_help = true)]
    request_timeout: Option<Duration>,
    /// Assume nothing about GatewayClasses and parents of routes that are not in the input; exit with 2 if part of the cluster may not be read
    #[arg(long, global = true, hide_short_help = true)]
    pub strict: bool,
}

impl ClusterArguments {
    pub fn options(&self) -> ClientOptions {
        ClientOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            impersonate: self.impersonate.clone(),
            impersonate_groups: self.impersonate_groups.clone(),
            request_timeout: self.request_timeout.filter(|timeout| !timeout.is_zero()),
        }
    }

    /// The arguments, as written.
    fn words(&self) -> Vec<String> {
        let file = self.kubeconfig.as_ref().map(|file| file.to_string_lossy().into_owned());
        let named = [
            ("--kubeconfig", file.as_ref()),
            ("--context", self.context.as_ref()),
            ("--cluster", self.cluster.as_ref()),
            ("--user", self.user.as_ref()),
            ("--as", self.impersonate.as_ref()),
        ];
        let groups = self.impersonate_groups.iter().map(|group| ("--as-group", Some(group)));
        let given = named.into_iter().chain(groups).filter_map(|(flag, value)| Some([flag.to_owned(), value?.clone()]));
        given.flatten().collect()
    }
}

/// A duration as in kubectl: a number with a unit, or of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.');
    let number: Option<f64> = text.strip_suffix(unit).and_then(|number| number.parse().ok());
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number * seconds).ok());
    duration.ok_or_else(|| "write a number with a unit, as in `10s`, `500ms` or `2m`".to_owned())
}

impl Global {
    pub fn settings(&self) -> Settings {
        let controllers = Controllers::default();
        let controllers = if self.cluster.strict { controllers.strict() } else { controllers };
        Settings { infer_unlabelled: self.infer_unlabelled, controllers, ..Settings::default() }
    }

    /// The same, for a cluster of which not all kinds could be read.
    pub fn settings_without(&self, unseen: &[Unseen]) -> Settings {
        Settings { unread: unseen.iter().map(Unseen::unread_kind).collect(), ..self.settings() }
    }

    /// Whether the input is a cluster.
    pub fn reads_cluster(&self) -> bool {
        self.files.is_empty()
    }

    /// The same, with the namespace of the kubeconfig's context if the input is a cluster and no namespace is given.
    pub fn with_namespace_of_context(&self) -> Result<Global, ClusterError> {
        let mut global = self.clone();
        if self.reads_cluster() && self.namespace.is_none() && !self.all_namespaces {
            global.namespace = Some(self.cluster.options().default_namespace()?);
        }
        Ok(global)
    }

    /// The arguments that select the input, and what counts as a policy.
    pub fn source(&self) -> Vec<String> {
        let files = self.files.iter().flat_map(|file| ["-f".to_owned(), file.to_string_lossy().into_owned()]);
        let cluster = if self.reads_cluster() { self.cluster.words() } else { Vec::new() };
        files.chain(cluster).chain(self.infer_unlabelled.then(|| "--infer-unlabelled".to_owned())).collect()
    }
}

/// The object named by `KIND/NAME`, or by the two words `KIND NAME`.
pub fn object(words: &[String]) -> Result<ObjectQuery, Failure> {
    match ObjectQuery::parse_words(words)? {
        (object, []) => Ok(object),
        (_, [more, ..]) => Err(Problem::error(format!("unexpected argument `{more}`")).help("give one object").into()),
    }
}

/// The same for optional words.
pub fn optional_object(words: &[String]) -> Result<Option<ObjectQuery>, Failure> {
    if words.is_empty() { Ok(None) } else { object(words).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_for_kubectl() {
        for (text, expected) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("1.5", 1500), ("0", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(expected)), "{text}");
        }
        for wrong in ["", "s", "10 s", "-1s", "1d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
