//! The parts of pages.

mod computed;
mod diff;
mod findings;
mod frame;
mod names;
mod styles;
mod written;

use axum::http::StatusCode;
use maud::{Markup, html};

use crate::ask::{Answer, Ask, Unanswered};

pub use computed::{computed, lost_values};
pub use diff::change_groups;
pub use findings::{finding, finding_of_rule, input_problem, problem_with_line, severity};
pub use frame::{Frame, Tab};
pub use names::{
    counted, level_tag, more, node, node_list, noun, policies, policy, policy_list, qualified_name, section_node,
    short_node, status_badge,
};
pub use styles::{candidates, loss};
pub use written::{MarginNote, written};

/// The command line with the same answer, ready to copy.
pub fn command(ask: &Ask, words: &[&str]) -> Markup {
    let line = ask.page.command(words);
    html! {
        p.command {
            span.prompt aria-hidden="true" { "$ " }
            code { (line) }
            button.copy type="button" data-copy=(line) hidden { "Copy" }
        }
    }
}

/// A page that shows why a request failed.
pub fn failure(ask: &Ask, unanswered: &Unanswered) -> Answer {
    let Unanswered { status, problem } = unanswered;
    let title = if *status == StatusCode::NOT_FOUND { "Not found" } else { "No answer" };
    let main = html! {
        h1 { (title) }
        (input_problem(ask, problem))
        p {
            a href="/" { "Back to the overview" }
            @if *status == StatusCode::NOT_FOUND && !ask.page.changes().is_empty() { " · " a href="/changes" { "See what changed" } }
        }
    };
    Answer::Page(*status, Frame::new(title).render(ask, main))
}

/// A large number, and what it counts.
pub fn total(number: usize, what: &str, class: &str) -> Markup {
    html! { span.total.(class) { (number_and_what(number, what)) } }
}

/// The same, with a link to what it counts.
pub fn linked_total(number: usize, what: &str, class: &str, address: &str) -> Markup {
    html! { a.total.(class) href=(address) { (number_and_what(number, what)) } }
}

fn number_and_what(number: usize, what: &str) -> Markup {
    html! { span.number.zero[number == 0] { (grouped(number)) } " " span.what { (what) } }
}

/// A message. Text in backticks is shown as code.
pub fn message(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A backtick that belongs to a name.
        return html! { (text) };
    }
    html! { @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { bdi { (part) } } } @else { (part) } } }
}

/// The same with a capital first letter, as a heading.
pub fn sentence(text: &str) -> Markup {
    let mut letters = text.chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    message(&(first + letters.as_str()))
}

/// A number with its digits in groups of three: `12 345`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
