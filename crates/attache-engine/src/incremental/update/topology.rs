//! Updates nodes and links.

use std::collections::BTreeSet;

use super::{NextEngine, UpdateContext, gateways, implied_nodes};
use crate::incremental::changed::ObjectStates;
use crate::incremental::dependents::{Affected, add_competing_routes, policies_named_by_filters};
use crate::object::{Object, ObjectId};
use crate::policy::PolicyId;
use crate::topology::NeedsRebuild;
use crate::topology::api::GATEWAY_API;

/// The objects that depend on the edits of the topology.
#[derive(Debug)]
pub(super) struct UpdatedTopology {
    /// The routes, Gateways and ListenerSets that were relinked.
    pub linked: BTreeSet<ObjectId>,
    /// The policies that must be reattached.
    pub policies: BTreeSet<PolicyId>,
}

/// Updates the nodes of changed objects, and the links of all objects that depend on them.
pub(super) fn update(context: &UpdateContext<'_>, next: &mut NextEngine) -> Result<UpdatedTopology, NeedsRebuild> {
    update_nodes(context, next)?;
    let replaced = implied_nodes::update(context, next)?;
    let mut affected = Affected::find(context, &next.parts, &replaced);
    gateways::relink(context, next, &mut affected)?;
    add_competing_routes(context, &next.parts, &mut affected.routes);
    let Affected { routes, gateways, mut policies } = affected;
    let linked = routes.iter().map(|(route, _)| *route).chain(gateways).collect();
    next.topology_editor().relink_routes(routes)?;
    next.topology_editor().remove_unused()?;
    policies.extend(policies_named_by_filters(context, &next.parts));
    Ok(UpdatedTopology { linked, policies })
}

/// Adds and removes the nodes of objects, and updates the sections of objects whose spec changes.
fn update_nodes(context: &UpdateContext<'_>, next: &mut NextEngine) -> Result<(), NeedsRebuild> {
    let mut editor = next.topology_editor();
    for change in context.changes {
        match &change.states {
            ObjectStates::Added(object) => {
                editor.add_object(change.id)?;
                if is_grant(object) {
                    editor.add_grant(object, change.id);
                }
            }
            ObjectStates::Removed(object) => {
                editor.remove_object(change.id)?;
                if is_grant(object) {
                    editor.remove_grant(object, change.id);
                }
            }
            ObjectStates::Updated { .. } if change.fields.spec => {
                editor.update_sections(change.id);
            }
            ObjectStates::Updated { .. } => {}
        }
    }
    Ok(())
}

fn is_grant(object: &Object) -> bool {
    object.id.group == GATEWAY_API && object.id.kind == "ReferenceGrant"
}
