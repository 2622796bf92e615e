//! The parts of an engine that effective policies are computed from.

use crate::object::Objects;
use crate::policy::Policies;
use crate::topology::Topology;

/// The objects, topology and policies of an engine, borrowed.
///
/// A [`Model`](crate::model::Model) holds no objects, so that the models of two states can share what is the same in both.
/// Its methods take the view of the engine that the model belongs to.
#[derive(Clone, Copy, Debug)]
pub struct EngineView<'e> {
    /// All objects.
    pub objects: &'e Objects,
    /// The nodes and their links.
    pub topology: &'e Topology,
    /// The policies among the objects.
    pub policies: &'e Policies,
}
