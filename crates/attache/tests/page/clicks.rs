//! The clicks in docs/page.md lead to the answers in docs/page.md.

use std::fs;

use crate::browser::tab;
use crate::server::{Server, root};

/// The maximum number of clicks from the start page to an answer.
const MOST_CLICKS: usize = 3;

/// A row of the table: `| question | example | write `x`, click `y`, … | answer |`.
struct Row {
    question: String,
    example: String,
    steps: Vec<(bool, String)>,
    answers: Vec<String>,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/page.md")).unwrap();
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [question, example, steps, answers] = cells.as_slice() else { return None };
        let steps = steps.split("; ").map(|step| (step.starts_with("write"), quoted(step).concat()));
        Some(Row {
            question: (*question).to_owned(),
            example: quoted(example).concat(),
            steps: steps.collect(),
            answers: quoted(answers),
        })
    };
    text.lines().filter(|line| line.starts_with('|') && line.contains("click `")).filter_map(row).collect()
}

#[test]
fn every_question_is_answered_within_three_clicks() {
    let Some(tab) = tab() else { return };
    let rows = rows();
    assert!(rows.len() >= 10, "{} questions", rows.len());
    for Row { question, example, steps, answers } in rows {
        let server = Server::example(example.trim_start_matches("examples/"));
        tab.goto(&server.at("/"));
        assert!(steps.iter().filter(|(writes, _)| !writes).count() <= MOST_CLICKS, "{question}");
        for (writes, text) in &steps {
            if *writes {
                tab.write(text);
                tab.wait("document.querySelector('#results [role=option]')");
            } else {
                let before = tab.eval("document.getElementById('main').innerText.length + location.href");
                tab.click_text(text);
                tab.wait(&format!("document.readyState === 'complete' && (document.getElementById('main').innerText.length + location.href) !== {before}"));
            }
        }
        assert!(!answers.is_empty(), "{question}");
        for answer in answers {
            tab.wait(&format!("document.body.innerText.replace(/\\s+/g, ' ').includes({})", serde_json::json!(answer)));
        }
    }
}
