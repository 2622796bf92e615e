//! The walk-through of `docs/controller.md`: its commands are run, and must print what is shown.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use attache_testenv::eventually;

use crate::chart::repository;
use crate::deploy::{WEBHOOK, is_served, policy_is_accepted};
use crate::release::Release;

/// How long a command may print something else: until the controller has seen what the command before it did.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_walk_through_is_true() {
    let Some(release) = Release::install() else { return };
    let controller = release.run("attache");
    let file = repository("docs/controller.md");
    let text = fs::read_to_string(&file).unwrap();
    let start = text.find("## A walk-through\n").expect("a walk-through");
    let end = start + text[start + 2..].find("\n## ").expect("an end") + 3;
    let mut truth = String::new();
    let mut commands = None;
    let mut lines = text[start..end].lines();
    while let Some(line) = lines.next() {
        truth += &format!("{line}\n");
        match line {
            "```sh" => {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                truth += &format!("{}\n```\n", block.join("\n"));
                if let Some(unanswered) = commands.replace(block.join("\n")) {
                    run(&release, &unanswered);
                    wait_for_controller(&release);
                }
            }
            "```text" => {
                let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                let commands = commands.take().expect("a command before what it prints");
                let shown = shown.join("\n");
                truth += &format!("{}\n```\n", printed(&release, &commands, &shown));
            }
            _ => {}
        }
    }
    let truth = format!("{}{truth}{}", &text[..start], &text[end..]);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &truth).unwrap();
    }
    let diff = similar::TextDiff::from_lines(&text, &truth).unified_diff().to_string();
    assert!(truth == text || std::env::var_os("UPDATE_DOCS").is_some(), "{diff}\n{}", controller.log());
}

fn wait_for_controller(release: &Release) {
    eventually("the status of a policy is written", || policy_is_accepted(release));
    eventually("the webhook is registered", || release.get(WEBHOOK)["webhooks"][0].is_object());
    eventually("effective policies are served", || is_served(release));
}

/// What commands print. What is shown, if only ages differ: or what they print after a while.
fn printed(release: &Release, commands: &str, shown: &str) -> String {
    let start = Instant::now();
    loop {
        let printed = run(release, commands);
        if without_ages(&printed) == without_ages(shown) {
            return shown.to_owned();
        }
        if start.elapsed() > PATIENCE {
            return printed;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Runs commands of the shell in the repository as a cluster administrator.
fn run(release: &Release, commands: &str) -> String {
    let kubectl = release.cluster.programs().kubectl.parent().unwrap().display().to_string();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{commands}")])
        .current_dir(repository(""))
        .env("PATH", format!("{kubectl}:{}", std::env::var("PATH").unwrap()))
        .env("KUBECONFIG", release.cluster.kubeconfig())
        .env("KUBECACHEDIR", release.cluster.folder().join("kubectl-cache"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A text in which an age at the end of a line, as in `12s` or `2m5s`, is `AGE`.
fn without_ages(text: &str) -> String {
    let is_age = |word: &str| {
        word.starts_with(|it: char| it.is_ascii_digit())
            && word.chars().all(|it| it.is_ascii_digit() || "smhd".contains(it))
    };
    let lines = text.lines().map(|line| match line.rsplit_once(' ') {
        Some((rest, last)) if is_age(last) => format!("{rest} AGE"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
