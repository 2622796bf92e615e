//! The frame around every view.

use attache_engine::Problem;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{counted, grouped};
use crate::ask::Ask;
use crate::assets;

/// A view of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// All routes and backends.
    Overview,
    /// All policies.
    Policies,
    /// Problems.
    Problems,
    /// The graph.
    Topology,
    /// A request.
    Request,
    /// The effects of a change.
    Plan,
    /// Past changes.
    Changes,
}

const TABS: [(Tab, &str, &str); 7] = [
    (Tab::Overview, "Overview", "/"),
    (Tab::Policies, "Policies", "/policies"),
    (Tab::Problems, "Problems", "/problems"),
    (Tab::Topology, "Topology", "/topology"),
    (Tab::Request, "Request", "/request"),
    (Tab::Plan, "Plan", "/plan"),
    (Tab::Changes, "Changes", "/changes"),
];

/// The frame around a view.
#[derive(Clone, Debug)]
pub struct Frame {
    title: String,
    tab: Option<Tab>,
    is_wide: bool,
    focuses_search: bool,
}

impl Frame {
    /// A frame with a title.
    pub fn new(title: impl Into<String>) -> Frame {
        Frame { title: title.into(), tab: None, is_wide: false, focuses_search: false }
    }

    /// Selects the tab in the navigation.
    pub fn tab(self, tab: Tab) -> Frame {
        Frame { tab: Some(tab), ..self }
    }

    /// Uses the whole width of the window.
    pub fn wide(self) -> Frame {
        Frame { is_wide: true, ..self }
    }

    /// Puts the focus on the search box.
    pub fn focus_search(self) -> Frame {
        Frame { focuses_search: true, ..self }
    }

    /// Renders the page.
    pub fn render(&self, ask: &Ask, main: Markup) -> Markup {
        let revision = ask.page.mark(ask.state.revision);
        html! {
            (DOCTYPE)
            html lang="en" data-revision=(revision) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Attaché" }
                    link rel="stylesheet" href=(assets::STYLE.address());
                    link rel="icon" type="image/svg+xml" href=(assets::ICON.address());
                    script src=(assets::SCRIPT.address()) defer {}
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    (self.header(ask))
                    main #main tabindex="-1" .wide[self.is_wide] { (self.notices(ask)) (main) }
                    footer {
                        p { "Attaché reads " bdi { (ask.page.options.source) } ", and changes nothing." }
                    }
                }
            }
        }
    }

    fn header(&self, ask: &Ask) -> Markup {
        let problems = ask.state.summary().problems;
        let query = ask.parameters.get("q").unwrap_or_default();
        html! {
            header.top {
                a.brand href="/" { (LOGO) span { "Attaché" } }
                nav aria-label="Views" {
                    ul {
                        @for (tab, word, address) in TABS {
                            li {
                                a href=(address) aria-current=[(self.tab == Some(tab)).then_some("page")] {
                                    (word)
                                    @if tab == Tab::Problems && problems.total() > 0 {
                                        " " span.count.bad[problems.errors > 0] { (grouped(problems.total())) }
                                    }
                                    @if tab == Tab::Changes { " " span.count #new-changes hidden {} }
                                }
                            }
                        }
                    }
                }
                form.search role="search" action="/" method="get" {
                    input #search type="search" name="q" value=(query) placeholder="Find an object, a policy, a URL"
                        aria-label="Find an object, a policy or a URL" autocomplete="off" spellcheck="false"
                        role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list"
                        autofocus[self.focuses_search];
                    kbd aria-hidden="true" { "/" }
                    div #results hidden {}
                }
                // The script says here whether the page is live.
                p.connection #connection role="status" {}
            }
        }
    }

    /// What concerns every view: files that cannot be read, what may not be read, a lost connection to the cluster.
    fn notices(&self, ask: &Ask) -> Markup {
        let errors = ask.state.snapshot.input_problems().filter(|problem| Problem::is_error(problem)).count();
        html! {
            @if let Some(reason) = &ask.state.disconnected {
                p.notice.warning role="status" { strong { "Disconnected from the cluster. " } (reason) }
            }
            @if errors > 0 && self.tab != Some(Tab::Problems) {
                p.notice.bad {
                    strong { (counted(errors, "part")) " of the input cannot be used. " }
                    @if !ask.state.snapshot.engine.objects().is_empty() { "The rest is shown. " }
                    a href="/problems" { "See which" }
                }
            }
            @if let Some(first) = ask.state.unseen.first() {
                details.notice.warning {
                    summary { strong { "Some kinds cannot be read: " } (first) (super::more(ask.state.unseen.len() - 1)) }
                    ul { @for it in &ask.state.unseen { li { (it) } } }
                }
            }
        }
    }
}

/// Two sheets that touch: a policy, and the object it is attached to.
const LOGO: PreEscaped<&str> = PreEscaped(
    "<svg class=\"logo\" viewBox=\"0 0 20 20\" width=\"20\" height=\"20\" aria-hidden=\"true\">\
     <rect x=\"1.5\" y=\"6.5\" width=\"12\" height=\"12\" rx=\"3\" class=\"sheet\"/>\
     <rect x=\"7.5\" y=\"1.5\" width=\"11\" height=\"11\" rx=\"3\" class=\"front\"/></svg>",
);
