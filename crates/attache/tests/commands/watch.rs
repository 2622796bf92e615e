//! Starts the program on a folder, changes files in it, and waits for the output.
#![cfg(unix)]

mod run;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use self::run::{Run, bakery};
use super::run;

const STRICT: &str = "
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: strict, namespace: baker}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cakes}
  retry: {attempts: 1}
";

/// One file exists, one is added, and one is deleted.
fn come_and_go(run: &mut Run) {
    run.change_attempts(7);
    run.write("strict.yaml", STRICT);
    run.wait_for("now affected by");
    fs::remove_file(run.path("strict.yaml")).expect("removed");
    run.wait_for("no longer affected by");
}

#[test]
fn a_line_for_each_change() {
    let mut run = Run::start("-f manifests");
    come_and_go(&mut run);
    insta::assert_snapshot!(run.end());
}

#[test]
fn every_field_in_colour() {
    let mut run = Run::start("-f manifests --diff --color always");
    run.write("strict.yaml", STRICT);
    run.wait_for("now affected by");
    fs::remove_file(run.path("policies.yaml")).expect("removed");
    run.wait_for("no longer affected by");
    insta::assert_snapshot!(run.end());
}

#[test]
fn nothing_is_cut() {
    let mut run = Run::start("-f manifests -o wide");
    fs::remove_file(run.path("policies.yaml")).expect("removed");
    run.wait_for("no longer affected by RetryPolicy/baker/be-patient, RetryPolicy/baker/pay-once");
    insta::assert_snapshot!(run.end());
}

#[test]
fn a_document_for_each_change() {
    let mut run = Run::start("svc/orders -f manifests -o json");
    run.write("policies.yaml", &run.with_attempts(7));
    run.wait_for("\"type\":\"effective\"");
    run.write("strict.yaml", STRICT);
    run.wait_for("targetStatus");
    insta::assert_snapshot!(run.end());
}

#[test]
fn only_what_concerns_a_route() {
    let mut run = Run::start("httproute/cakes -f manifests");
    come_and_go(&mut run);
    insta::assert_snapshot!(run.end());
}

#[test]
fn only_what_concerns_a_policy() {
    let mut run = Run::start("retrypolicy/pay-once -f manifests");
    let text = run.with_attempts(7).replace("attempts: 0", "attempts: 2");
    run.write("policies.yaml", &text);
    run.wait_for("→ 2");
    fs::remove_file(run.path("policies.yaml")).expect("removed");
    run.wait_for("→ gone");
    insta::assert_snapshot!(run.end());
}

#[test]
fn only_what_is_in_a_namespace() {
    let mut run = Run::start("-n infra -f manifests");
    run.write("policies.yaml", &run.with_attempts(7));
    let gateway = run.read("gateway.yaml").replace("name: time-limit", "name: limit");
    run.write("gateway.yaml", &gateway);
    run.wait_for("now affected by");
    insta::assert_snapshot!(run.end());
}

#[test]
fn the_time_of_each_change() {
    let mut run = Run::start("-f manifests --timestamps");
    run.change_attempts(7);
    let text = run.end();
    let time = text.lines().nth(1).and_then(|line| line.split_once(' ')).expect("a time").0.to_owned();
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{text}");
}

#[test]
fn editors_write_in_many_ways() {
    let mut run = Run::start("-f manifests");
    // By renaming, as `sed -i`.
    run.write("sed1a2b", &run.with_attempts(2));
    run.rename("sed1a2b", "policies.yaml");
    run.wait_for("→ 2");
    // With a backup that is the old file, as vim and emacs.
    let text = run.with_attempts(3);
    run.rename("policies.yaml", "policies.yaml~");
    run.write("policies.yaml", &text);
    run.wait_for("→ 3");
    fs::remove_file(run.path("policies.yaml~")).expect("removed");
    // In place, in several pieces.
    let text = run.with_attempts(4);
    let (start, end) = text.split_at(text.len() / 2);
    let mut file = File::create(run.path("policies.yaml")).expect("writable");
    file.write_all(start.as_bytes()).expect("writable");
    file.write_all(end.as_bytes()).expect("writable");
    drop(file);
    run.wait_for("→ 4");
    insta::assert_snapshot!(run.end());
}

#[test]
fn a_file_that_is_emptied_before_it_is_written() {
    let mut run = Run::start("-f manifests");
    let text = run.with_attempts(6);
    File::create(run.path("policies.yaml")).expect("writable");
    // It is seen as empty now.
    run.write("strict.yaml", STRICT);
    run.wait_for("now affected by");
    run.write("policies.yaml", &text);
    run.wait_for("→ 6");
    // The file stays empty.
    File::create(run.path("policies.yaml")).expect("writable");
    run.wait_for("no longer affected by");
    insta::assert_snapshot!(run.end());
}

#[test]
fn a_broken_file_counts_as_it_was_until_it_is_fixed() {
    let mut run = Run::start("-f manifests");
    let good = run.with_attempts(8);
    run.write("policies.yaml", &good.replacen("retry:", "retry: [", 1));
    run.wait_for("help: until this is fixed");
    // It is printed once, whatever else changes.
    run.write("strict.yaml", STRICT);
    run.wait_for("now affected by");
    run.write("policies.yaml", &good.replace("kind: RetryPolicy", "kin: RetryPolicy"));
    run.wait_for("manifests/policies.yaml:21:1");
    run.wait_for("help: ");
    run.write("policies.yaml", &good);
    run.wait_for_all(&["→ 8", "fixed: "]);
    insta::assert_snapshot!(run.end());
}

#[test]
fn an_unreadable_file_counts_with_its_previous_content() {
    let mut run = Run::start("-f manifests");
    run.write("more/strict.yaml", STRICT);
    run.wait_for("now affected by");
    // A link to itself is as good as a file without permission, also for users who may read everything.
    fs::hard_link(run.path("policies.yaml"), run.path("policies.bak")).expect("linked");
    symlink("policies.yaml", run.path("policies.new")).expect("linked");
    run.rename("policies.new", "policies.yaml");
    run.wait_for("cannot read `manifests/policies.yaml`");
    run.rename("policies.bak", "policies.yaml");
    run.wait_for("fixed: ");
    run.change_attempts(9);
    insta::assert_snapshot!(run.end());
}

#[test]
fn folders_come_and_go() {
    let mut run = Run::start("-f manifests");
    run.write("more/and/more/strict.yaml", STRICT);
    run.wait_for("now affected by");
    run.write("more/and/more/strict.yaml", &STRICT.replace("attempts: 1", "attempts: 2"));
    run.wait_for("→ 2");
    // A moved file has the same content.
    run.rename("more", "less");
    run.write("less/and/more/strict.yaml", &STRICT.replace("attempts: 1", "attempts: 3"));
    run.wait_for("→ 3");
    run.rename("less/and/more/strict.yaml", "strict.yaml");
    run.write("strict.yaml", &STRICT.replace("attempts: 1", "attempts: 4"));
    run.wait_for("→ 4");
    run.rename("strict.yaml", "less/strict.yaml");
    fs::remove_dir_all(run.path("less")).expect("removed");
    run.wait_for("no longer affected by");
    insta::assert_snapshot!(run.end());
}

#[test]
fn the_folder_is_deleted_and_created_again() {
    let mut run = Run::start("svc/pies -f manifests");
    let (here, elsewhere) = (run.folder.path().join("manifests"), run.folder.path().join("elsewhere"));
    fs::rename(&here, &elsewhere).expect("renamed");
    run.wait_for_all(&["there is no file or folder", "no longer affected by"]);
    fs::rename(&elsewhere, &here).expect("renamed");
    run.wait_for_all(&["now affected by", "fixed: "]);
    run.change_attempts(6);
    fs::remove_dir_all(&here).expect("removed");
    run.wait_for_all(&["there is no file or folder", "no longer affected by"]);
    insta::assert_snapshot!(run.end());
}

#[test]
fn a_folder_that_is_not_there_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = Run::start_in(folder, "-f manifests/deep/down");
    fs::create_dir_all(run.path("deep")).expect("a folder");
    for file in ["baker.yaml", "gateway.yaml", "kind.yaml", "policies.yaml"] {
        fs::create_dir_all(run.path("deep/up")).expect("a folder");
        fs::copy(bakery().join(file), run.path("deep/up").join(file)).expect("copied");
    }
    run.rename("deep/up", "deep/down");
    run.wait_for_all(&["now affected by", "fixed: "]);
    insta::assert_snapshot!(run.end());
}

#[test]
fn links_that_come_to_lead_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let version = |name: &str, attempts: &str| {
        let to = folder.path().join("manifests").join(name);
        fs::create_dir_all(&to).expect("a folder");
        for file in ["baker.yaml", "gateway.yaml", "kind.yaml", "policies.yaml"] {
            let text = fs::read_to_string(bakery().join(file)).expect("readable");
            fs::write(to.join(file), text.replace("attempts: 5", attempts)).expect("written");
        }
    };
    // As a ConfigMap is mounted.
    version("..one", "attempts: 5");
    version("..two", "attempts: 6");
    let manifests = folder.path().join("manifests");
    symlink("..one", manifests.join("..data")).expect("linked");
    for file in ["baker.yaml", "gateway.yaml", "kind.yaml", "policies.yaml"] {
        symlink(format!("..data/{file}"), manifests.join(file)).expect("linked");
    }
    let mut run = Run::start_in(folder, "svc/pies -f manifests");
    symlink("..two", run.path("..data_tmp")).expect("linked");
    run.rename("..data_tmp", "..data");
    run.wait_for("→ 6");
    // The target of a link may be written too, whatever its name is.
    fs::write(run.path("..two/policies.yaml"), run.with_attempts(7)).expect("writable");
    run.wait_for("→ 7");
    run.write("policies.txt", &run.with_attempts(8));
    symlink("policies.txt", run.path("policies.new")).expect("linked");
    run.rename("policies.new", "policies.yaml");
    run.wait_for("→ 8");
    run.write("policies.txt", &run.with_attempts(9));
    run.wait_for("→ 9");
    insta::assert_snapshot!(run.end());
}

#[test]
fn one_file_among_others() {
    let mut run = Run::start(
        "-f manifests/kind.yaml -f manifests/gateway.yaml -f manifests/baker.yaml -f manifests/policies.yaml",
    );
    run.write("strict.yaml", STRICT);
    run.write("swap", &run.with_attempts(2));
    run.rename("swap", "policies.yaml");
    run.wait_for("→ 2");
    insta::assert_snapshot!(run.end());
}

#[test]
fn the_same_object_in_two_files() {
    let mut run = Run::start("retrypolicy/be-patient -f manifests");
    run.write("a.yaml", &run.with_attempts(1));
    run.wait_for("`RetryPolicy/baker/pay-once` is defined twice");
    run.wait_for("help: ");
    run.write("z.yaml", &run.with_attempts(2));
    run.wait_for("→ 2");
    // The previous definition counts again. It was already reported as defined twice.
    fs::remove_file(run.path("z.yaml")).expect("removed");
    run.wait_for("→ 5");
    fs::remove_file(run.path("policies.yaml")).expect("removed");
    run.wait_for("→ 1");
    insta::assert_snapshot!(run.end());
}

#[test]
fn looking_from_time_to_time() {
    let mut run = Run::start("-f manifests --poll 1");
    run.change_attempts(3);
    run.write("more/strict.yaml", STRICT);
    run.wait_for("now affected by");
    insta::assert_snapshot!(run.end());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("strict.yaml"), STRICT).expect("written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["watch", "-o", "json"])
        .args([Path::new("-f"), folder.path(), Path::new("-f"), &bakery()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut heading = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("piped"));
    errors.read_line(&mut heading).expect("a line");
    drop(child.stdout.take());
    fs::remove_file(folder.path().join("strict.yaml")).expect("removed");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert!(!rest.contains("cannot write"), "{rest}");
}

/// In `docs/watch.md`, `sh` blocks contain commands, and `text` blocks their output.
#[test]
fn the_walk_through_prints_what_the_page_shows() {
    let text = fs::read_to_string(bakery().join("../../docs/watch.md")).expect("readable");
    let mut run = None;
    let (mut shown, mut printed) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let block: Vec<&str> = match line {
            "```sh" | "```text" => lines.by_ref().take_while(|line| *line != "```").collect(),
            _ => continue,
        };
        match (line, block[0].strip_prefix("attache watch ")) {
            ("```text", _) => {
                let run: &mut Run = run.as_mut().expect("a run");
                // The first line has already been read.
                let said = run.transcript.concat();
                let new: Vec<&str> = block.iter().copied().filter(|line| !said.contains(line)).collect();
                run.wait_for_all(&new);
                shown.extend(block.iter().map(|line| line.to_string()));
            }
            // Commands that process the output are not run.
            (_, Some(arguments)) if arguments.contains('|') => {}
            (_, Some(arguments)) => {
                let folder = run.take().map(|run: Run| run.end_and_keep(&mut printed));
                run = Some(match folder {
                    Some(folder) => Run::start_in(folder, arguments),
                    None => Run::start(arguments),
                });
            }
            (_, None) => {
                let folder = run.as_ref().expect("a run").folder.path();
                let done = Command::new("sh").args(["-c", &block.join("\n")]).current_dir(folder).status();
                assert!(done.expect("sh runs").success());
            }
        }
    }
    run.take().expect("a run").end_and_keep(&mut printed);
    shown.sort();
    printed.sort();
    assert_eq!(shown, printed);
}

#[test]
fn input_that_cannot_be_followed() {
    insta::assert_snapshot!(
        [
            run("attache watch"),
            run("attache watch -f - -f examples/bakery"),
            run("attache watch -f /dev/null"),
            run("attache watch httproute/caks -f examples/bakery"),
            run("attache watch -f examples/bakery --poll 0"),
        ]
        .join("\n")
    );
}
