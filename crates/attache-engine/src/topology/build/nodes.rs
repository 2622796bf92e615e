//! The nodes of objects, and implied nodes: Namespaces and GatewayClasses that have no object, and virtual targets.

use std::collections::BTreeSet;
use std::iter::repeat_n;
use std::ops::Range;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::topology::api::{self, GATEWAY_API};
use crate::topology::sections::{self, Section};
use crate::topology::{Level, Node, NodeId, NodeMap, Owner};

/// The number of objects that are surveyed in one parallel task.
const CHUNK: usize = 512;

/// The nodes that a range of objects needs.
#[derive(Default)]
pub struct Survey<'o> {
    /// The level of each object, and how many of the sections belong to it.
    wholes: Vec<(Level, u32)>,
    /// Listeners and ports. Rules are read with the links of their routes.
    sections: Vec<Section>,
    /// The namespaces of the objects, each with the length of the run of objects in it.
    namespaces: Vec<(&'o str, usize)>,
}

pub fn survey(objects: &Objects) -> Vec<Survey<'_>> {
    let starts: Vec<usize> = (0..objects.len()).step_by(CHUNK).collect();
    let chunks = starts.into_par_iter().map(|at| at..objects.len().min(at + CHUNK));
    chunks.map(|chunk| Survey::new(objects, chunk)).collect()
}

impl<'o> Survey<'o> {
    fn new(objects: &'o Objects, chunk: Range<usize>) -> Survey<'o> {
        let mut survey = Survey::default();
        // Objects are sorted by kind and namespace, so most are like the previous one.
        let mut last: Option<(&ObjectRef, Level)> = None;
        for id in chunk.map(|at| ObjectId(at as u32)) {
            let object = &objects[id];
            let level = match last {
                Some((before, level)) if before.kind == object.id.kind && before.group == object.id.group => level,
                _ => api::level(&object.id.group, &object.id.kind),
            };
            last = Some((&object.id, level));
            let first = survey.sections.len();
            if level != Level::Route {
                sections::read(id, object, level, &mut survey.sections);
            }
            survey.wholes.push((level, (survey.sections.len() - first) as u32));
            match survey.namespaces.last_mut() {
                Some((namespace, count)) if *namespace == object.id.namespace => *count += 1,
                _ => survey.namespaces.push((&object.id.namespace, 1)),
            }
        }
        survey
    }
}

/// The names of implied nodes, sorted.
pub fn implied(objects: &Objects, virtual_targets: &[ObjectRef], surveys: &[Survey]) -> Vec<ObjectRef> {
    let namespaces = surveys.iter().flat_map(|survey| &survey.namespaces).map(|(namespace, _)| *namespace);
    let namespaces = namespaces.chain(virtual_targets.iter().map(|id| id.namespace.as_str()));
    let namespaces: BTreeSet<&str> = namespaces.filter(|namespace| !namespace.is_empty()).collect();
    let mut names: BTreeSet<ObjectRef> = virtual_targets.iter().cloned().collect();
    names.extend(namespaces.into_iter().map(namespace));
    names.extend(objects.each_of_kind(GATEWAY_API, "Gateway").filter_map(|(_, gateway)| class_of(gateway)));
    names.into_iter().filter(|id| objects.find(id).is_none()).collect()
}

/// Builds the nodes: whole objects, then implied nodes and sections as parts.
pub fn make(
    surveys: Vec<Survey>,
    implied: &[ObjectRef],
    namespace: impl Fn(&str) -> Option<NodeId>,
) -> NodeMap<Option<Node>> {
    let mut wholes: Vec<(Level, Range<u32>, Option<NodeId>)> = Vec::with_capacity(surveys.len() * CHUNK);
    let mut next = implied.len() as u32;
    for survey in &surveys {
        let namespaces = survey.namespaces.iter().flat_map(|(name, count)| repeat_n(namespace(name), *count));
        for (&(level, sections), namespace) in survey.wholes.iter().zip(namespaces) {
            wholes.push((level, next..next + sections, namespace));
            next += sections;
        }
    }
    let implied = implied.iter().enumerate();
    let implied = implied.map(|(at, id)| Node { namespace: namespace(&id.namespace), ..implied_node(at, id) });
    let sections: Vec<Section> = surveys.into_iter().flat_map(|survey| survey.sections).collect();
    let mut nodes = NodeMap::new([], implied.map(Some));
    nodes.add_wholes(wholes.len(), |range| {
        range.clone().zip(&wholes[range]).map(|(at, (level, sections, namespace))| Node {
            sections: sections.clone(),
            namespace: *namespace,
            ..Node::new(*level, Owner::Object(ObjectId(at as u32)))
        })
    });
    nodes.add_parts(sections.len(), |range| sections[range].iter().cloned().map(Node::from));
    nodes
}

fn namespace(name: &str) -> ObjectRef {
    ObjectRef::new("", "Namespace", "", name)
}

/// The Namespace that an object implies.
pub fn namespace_of(id: &ObjectRef) -> Option<ObjectRef> {
    (!id.namespace.is_empty()).then(|| namespace(&id.namespace))
}

/// The GatewayClass that a Gateway implies.
pub fn class_of(gateway: &Object) -> Option<ObjectRef> {
    let class = gateway.spec().get_str("gatewayClassName").filter(|class| !class.is_empty())?;
    Some(ObjectRef::new(GATEWAY_API, "GatewayClass", "", class))
}

/// The implied node at an index of the parts.
pub fn implied_node(at: usize, id: &ObjectRef) -> Node {
    let level = match api::level(&id.group, &id.kind) {
        level @ (Level::GatewayClass | Level::Namespace | Level::Backend) => level,
        _ => Level::Other,
    };
    Node::new(level, Owner::Implied(at as u32))
}
