//! Pages of lists whose objects are kept as compressed text, which takes much less memory than parsed objects.

use std::ops::Range;

use crate::ApiResource;
use crate::list::{self, ListExtent, Parsed};
use crate::mentions::{MentionScan, Mentions};
use crate::scan::{Scanner, Token};

/// The objects of a page, as text.
#[derive(Debug)]
pub(crate) struct RawPage {
    resource: ApiResource,
    extent: ListExtent,
    /// Whether the objects are policies.
    pub(crate) is_policies: bool,
    items: Vec<RawItem>,
    /// The namespaces and names of the objects.
    names: String,
    /// The objects, one after the other, without the sets of fields that managers own. The objects of a page are much alike:
    /// a tenth of the text remains.
    packed: Vec<u8>,
}

/// The location of an object in the text of its page, and of its namespace and name among the names.
#[derive(Debug, Default)]
struct RawItem {
    text: Range<u32>,
    namespace: Range<u32>,
    name: Range<u32>,
}

/// The text of a page.
pub(crate) struct PageText<'p> {
    text: String,
    items: &'p [RawItem],
}

impl PageText<'_> {
    /// The text of an object.
    pub(crate) fn get(&self, item: usize) -> &str {
        part(&self.text, &self.items[item].text)
    }
}

fn part<'t>(text: &'t str, range: &Range<u32>) -> &'t str {
    text.get(range.start as usize..range.end as usize).unwrap_or_default()
}

impl RawPage {
    /// The objects of a response, and what they mention. `None` if the response is not a list in JSON.
    pub(crate) fn read(body: &str, resource: &ApiResource, extent: &ListExtent) -> Option<(RawPage, Mentions)> {
        let mut reader = PageReader::new(body);
        while let Some(token) = reader.scanner.next() {
            reader.token(token);
        }
        // Offsets have 32 bits.
        if reader.depth != 0 || !reader.has_items || u32::try_from(body.len()).is_err() {
            return None;
        }
        let mut mentions = reader.references.finish();
        if !reader.items.is_empty() {
            mentions.add_kind(&resource.group, &resource.kind);
        }
        let PageReader { text, names, items, .. } = reader;
        let packed = lz4_flex::compress_prepend_size(text.as_bytes());
        let (resource, extent) = (resource.clone(), extent.clone());
        Some((RawPage { resource, extent, is_policies: false, items, names, packed }, mentions))
    }

    pub(crate) fn resource(&self) -> &ApiResource {
        &self.resource
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn text(&self) -> PageText<'_> {
        let text = lz4_flex::decompress_size_prepended(&self.packed).ok();
        let text = text.and_then(|text| String::from_utf8(text).ok());
        PageText { text: text.expect("it was packed by this program"), items: &self.items }
    }

    /// The namespace of an object; empty for a cluster-scoped one.
    pub(crate) fn namespace(&self, item: usize) -> &str {
        part(&self.names, &self.items[item].namespace)
    }

    pub(crate) fn name(&self, item: usize) -> &str {
        part(&self.names, &self.items[item].name)
    }

    /// Parses some of the objects.
    pub(crate) fn parse(&self, is_wanted: impl Fn(usize) -> bool) -> Parsed {
        let wanted: Vec<usize> = (0..self.len()).filter(|item| is_wanted(*item)).collect();
        if wanted.is_empty() {
            return Parsed::default();
        }
        let ApiResource { kind, .. } = &self.resource;
        let version = self.resource.api_version();
        let text = self.text();
        let items = wanted.into_iter().map(|item| text.get(item)).collect::<Vec<_>>().join(",");
        let list = format!(r#"{{"apiVersion":"{version}","kind":"{kind}List","items":[{items}]}}"#);
        list::read_objects(list.as_bytes(), &self.resource, &self.extent)
    }
}

/// The nesting of a list: the document, its items, and within each item the metadata and the managers.
const IN_DOCUMENT: usize = 1;
const IN_ITEMS: usize = 2;
const IN_ITEM: usize = 3;
const IN_METADATA: usize = 4;
const IN_MANAGER: usize = 6;

struct PageReader<'t> {
    body: &'t str,
    scanner: Scanner<'t>,
    depth: usize,
    /// The latest keys of the document, of an item, of its metadata and of a manager.
    keys: [&'t str; 4],
    /// Where the text starts that is not copied yet, while an item is read.
    copied: usize,
    has_items: bool,
    /// The depth of a set of fields that is being skipped.
    skipped: Option<usize>,
    text: String,
    names: String,
    items: Vec<RawItem>,
    item: RawItem,
    references: MentionScan<'t>,
}

impl<'t> PageReader<'t> {
    fn new(body: &'t str) -> PageReader<'t> {
        PageReader {
            body,
            scanner: Scanner::new(body),
            depth: 0,
            keys: [""; 4],
            copied: 0,
            has_items: false,
            skipped: None,
            text: String::with_capacity(body.len()),
            names: String::new(),
            items: Vec::new(),
            item: RawItem::default(),
            references: MentionScan::default(),
        }
    }

    fn token(&mut self, token: Token<'t>) {
        match token {
            Token::OpenMap | Token::OpenList => self.open(token),
            Token::Close => self.close(),
            Token::Key(key) => {
                match self.depth {
                    IN_DOCUMENT => self.keys = [key, "", "", ""],
                    IN_ITEM => self.keys[1..].copy_from_slice(&[key, "", ""]),
                    IN_METADATA => self.keys[2..].copy_from_slice(&[key, ""]),
                    IN_MANAGER => self.keys[3] = key,
                    _ => {}
                }
                self.refer(token);
            }
            Token::Text(text) => {
                if self.depth == IN_METADATA && self.keys[1] == "metadata" {
                    match self.keys[2] {
                        "name" => self.item.name = self.add_name(text),
                        "namespace" => self.item.namespace = self.add_name(text),
                        _ => {}
                    }
                }
                self.refer(token);
            }
        }
    }

    fn open(&mut self, token: Token<'t>) {
        let start = self.scanner.at - 1;
        self.depth += 1;
        if self.keys[0] == "items" {
            match self.depth {
                IN_ITEMS => self.has_items = true,
                IN_ITEM => {
                    self.item = RawItem { text: self.position()..0, ..RawItem::default() };
                    self.copied = start;
                }
                _ if self.depth == IN_MANAGER + 1 && self.keys[1..] == ["metadata", "managedFields", "fieldsV1"] => {
                    self.copy_until(start + 1);
                    self.skipped = Some(self.depth);
                }
                _ => {}
            }
        }
        self.refer(token);
    }

    fn close(&mut self) {
        self.refer(Token::Close);
        if self.skipped == Some(self.depth) {
            self.skipped = None;
            self.copied = self.scanner.at - 1;
        }
        if self.depth == IN_ITEM && self.keys[0] == "items" {
            self.copy_until(self.scanner.at);
            self.item.text.end = self.position();
            self.items.push(std::mem::take(&mut self.item));
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// References matter in `spec`.
    fn refer(&mut self, token: Token<'t>) {
        if self.depth >= IN_ITEM && self.keys[0] == "items" && self.keys[1] == "spec" {
            self.references.token(token);
        }
    }

    fn copy_until(&mut self, end: usize) {
        self.text.push_str(self.body.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }

    /// Where the copy continues.
    fn position(&self) -> u32 {
        self.text.len() as u32
    }

    fn add_name(&mut self, name: &str) -> Range<u32> {
        let start = self.names.len() as u32;
        self.names.push_str(name);
        start..self.names.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resource() -> ApiResource {
        ApiResource {
            group: "example.io".into(),
            version: "v1".into(),
            kind: "Cake".into(),
            plural: "cakes".into(),
            namespaced: true,
            short_names: Vec::new(),
        }
    }

    fn cake(name: &str) -> Value {
        let managers = json!([{"manager": "kubectl", "operation": "Apply", "time": "2026-11-17T09:00:00Z",
            "fieldsV1": {"f:spec": {"k:{\"a\":\"}\"}": {".": {}}}, "f:status": {}}, "fieldsType": "FieldsV1"}]);
        json!({"apiVersion": "example.io/v1", "kind": "Cake",
            "metadata": {"managedFields": managers, "name": name, "namespace": "shop", "labels": {"name": "no"}},
            "spec": {"text": "a \"quote\" and ]}", "metadata": {"name": "no"}, "number": 1.5,
                "targetRefs": [{"group": "g", "kind": "K", "name": "x", "more": {"kind": "no"}}, {"kind": "L"}],
                "nested": [{"backendRef": {"kind": "M"}}], "kind": "no"},
            "status": {"parentRef": {"kind": "no"}}})
    }

    #[test]
    fn objects_are_parsed_from_text_as_from_the_page() {
        let items = [cake("a"), cake("b"), cake("c")];
        let metadata = json!({"resourceVersion": "1", "name": "no"});
        let list = json!({"apiVersion": "example.io/v1", "kind": "CakeList", "items": items, "metadata": metadata});
        for body in [list.to_string(), serde_json::to_string_pretty(&list).expect("JSON")] {
            let (page, mentions) = RawPage::read(&body, &resource(), &ListExtent::Whole).expect("a list");
            let expected = list::read_objects(body.as_bytes(), &resource(), &ListExtent::Whole).objects;
            assert_eq!(page.parse(|_| true).objects, expected);
            assert_eq!(page.parse(|item| item == 1).objects, expected[1..2]);
            assert_eq!((page.namespace(2), page.name(2)), ("shop", "c"));
            let text = page.text();
            assert!(!text.get(0).contains("f:spec") && text.get(0).contains("kubectl"));
            assert_eq!(mentions, Mentions::new(&expected));
        }
    }

    #[test]
    fn lists_without_items_are_understood() {
        for list in [r#"{"items":[],"metadata":{}}"#, r#"{"kind":"CakeList","items":[]}"#] {
            let (page, mentions) = RawPage::read(list, &resource(), &ListExtent::Whole).expect("a list");
            assert_eq!((page.len(), mentions), (0, Mentions::default()));
        }
    }

    #[test]
    fn what_is_no_list_is_left_to_the_parser() {
        let cut = json!({"items": [cake("a")]}).to_string();
        for text in ["", "[]", "<html>", r#"{"kind":"Status"}"#, r#"{"items":null}"#, &cut[..cut.len() - 1]] {
            assert!(RawPage::read(text, &resource(), &ListExtent::Whole).is_none(), "{text}");
        }
    }
}
