//! Policies that name no target, and other objects that bind them to places.

use smol_str::SmolStr;

use super::KindName;
use super::schema::keys;
use crate::reader::DocumentReader;

/// Objects that bind policies to placements, all in the namespace of the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bindings {
    pub kind: KindName,
    /// The list of what is bound: policies, and sets of them.
    pub subjects: Vec<SmolStr>,
    /// The reference to the placement.
    pub placement: Vec<SmolStr>,
    /// The kind of such sets, and where their members' names are.
    pub sets: Option<(KindName, Vec<SmolStr>)>,
    pub escalation: Option<Escalation>,
    /// The field, and its value, by which a binding places nothing: it only escalates what others place.
    pub restricted: Option<(Vec<SmolStr>, SmolStr)>,
    pub placements: Placements,
}

/// A field of a binding that can set a field of the policies it binds, but only to one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    pub field: Vec<SmolStr>,
    pub value: SmolStr,
    /// The field of the policy's settings.
    pub sets: SmolStr,
}

/// Objects that choose places: by decisions if there are any, else by labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placements {
    pub kind: KindName,
    pub decisions: KindName,
    /// The label by which a decision names its placement.
    pub label: SmolStr,
    /// What is placed on.
    pub targets: KindName,
    /// The label by which a target names its set.
    pub set_label: SmolStr,
    /// The kind whose objects open a set to the placements of a namespace.
    pub set_bindings: KindName,
}

impl Bindings {
    pub(super) fn read(reader: &mut DocumentReader<'_, '_>) -> Option<Bindings> {
        let kind = kind(reader, "kind");
        let subjects = path(reader, "subjects");
        let placement = path(reader, "placement");
        let sets = reader.object("sets", |sets| Some((self::kind(sets, "kind")?, path(sets, "members")?)));
        let escalation = reader.object("escalation", |it| {
            let (field, value, sets) = (path(it, "field"), it.required("value"), it.required("sets"));
            Some(Escalation { field: field?, value: value?, sets: sets? })
        });
        let restricted = reader.object("restricted", |it| {
            let (field, value) = (path(it, "field"), it.required("value"));
            Some((field?, value?))
        });
        let placements = reader.object("placements", Placements::read).flatten();
        if placements.is_none() {
            reader.complain(None, "`placements` is missing".to_string(), Some("add `placements`".to_string()));
        }
        Some(Bindings {
            kind: kind?,
            subjects: subjects?,
            placement: placement?,
            sets: sets.flatten(),
            escalation: escalation.flatten(),
            restricted: restricted.flatten(),
            placements: placements?,
        })
    }
}

impl Placements {
    fn read(reader: &mut DocumentReader<'_, '_>) -> Option<Placements> {
        let (own, decisions) = (kind(reader, "kind"), kind(reader, "decisions"));
        let (label, targets) = (reader.required("label"), kind(reader, "targets"));
        let (set_label, set_bindings) = (reader.required("setLabel"), kind(reader, "setBindings"));
        Some(Placements {
            kind: own?,
            decisions: decisions?,
            label: label?,
            targets: targets?,
            set_label: set_label?,
            set_bindings: set_bindings?,
        })
    }
}

fn kind(reader: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<KindName> {
    reader.required(field).map(|name| KindName::parse(&name))
}

fn path(reader: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<Vec<SmolStr>> {
    reader.required(field).map(|path| keys(&path))
}
