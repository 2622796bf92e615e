//! Effective policies as the controller reports them: also those of policies that the user may not read.

use attache_engine::ObjectRef;
use serde_json::Value;

use crate::connection::JSON;
use crate::read::Cluster;

impl Cluster {
    /// The EffectivePolicies of a namespace, or of one object in it. Empty if the API is not installed, or the user may not
    /// read it.
    pub fn reported(&self, namespace: &str, object: Option<&ObjectRef>) -> Vec<Value> {
        let mut path = format!("/apis/effective.attache.dev/v1alpha1/namespaces/{namespace}/effectivepolicies");
        if let Some(ObjectRef { group, kind, name, .. }) = object {
            path += &format!(
                "?fieldSelector=spec.object.group%3D{group},spec.object.kind%3D{kind},spec.object.name%3D{name}"
            );
        }
        let answer = self.runtime.block_on(self.connection.get(&path, JSON));
        let list = answer.ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok()).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }
}
