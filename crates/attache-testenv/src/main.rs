//! `attache-testenv install` prepares the test environment; `attache-testenv run` starts a cluster to experiment with.

use std::process::ExitCode;

use attache_testenv::{ClusterOptions, Helm, Prometheus, TestEnvError};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["install"] => install(),
        ["run"] => run(),
        _ => {
            eprintln!("usage: attache-testenv install | run");
            return ExitCode::from(2);
        }
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(TestEnvError::Unavailable(why)) if std::env::var("CI").as_deref() != Ok("true") => {
            eprintln!("tests against a real API server are left out: {why}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the missing programs, and checks that they start.
fn install() -> Result<(), TestEnvError> {
    Helm::find_or_build()?;
    Prometheus::find_or_build()?;
    let cluster = ClusterOptions::new().try_start()?;
    eprintln!("the test environment is ready: {}", cluster.programs().kube_apiserver.display());
    Ok(())
}

fn run() -> Result<(), TestEnvError> {
    let cluster = ClusterOptions::new().with_controllers().try_start()?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    eprintln!("the cluster runs until standard input ends (Ctrl-D)");
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    Ok(())
}
