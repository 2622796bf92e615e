//! All known controllers of Gateways, and which of them a Gateway belongs to.

use std::sync::{Arc, LazyLock};

use super::{ControllerFeatures, GATEWAY_CONTROLLER, GROUP, GatewayController, KindControllers};
use crate::object::{Object, Objects};
use crate::problem::Problem;
use crate::text::{self, Reading};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// All known controllers of Gateways: those of GatewayController documents in the input, then the built-in ones. A
/// clone is cheap.
#[derive(Clone, Debug)]
pub struct Controllers {
    known: Arc<[GatewayController]>,
    is_strict: bool,
}

/// The controller of a Gateway, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOwner<'a> {
    /// A known controller.
    Known {
        /// The controller.
        controller: &'a GatewayController,
        /// The `controllerName` of the GatewayClass.
        controller_name: &'a str,
    },
    /// A controller that nothing is known about.
    Other {
        /// The `controllerName` of the GatewayClass.
        controller_name: &'a str,
    },
    /// The GatewayClass is not in the input.
    Unknown {
        /// The name of the GatewayClass.
        class: &'a str,
    },
}

impl Default for Controllers {
    /// The built-in ones.
    fn default() -> Self {
        static BUILT_IN: LazyLock<Controllers> =
            LazyLock::new(|| Controllers { known: built_in().0.into(), is_strict: false });
        BUILT_IN.clone()
    }
}

/// The built-in controllers, and the problems of their documents, of which there are none: a test checks it.
fn built_in() -> (Vec<GatewayController>, Vec<Problem>) {
    let text = include_str!("../../../../kinds/controllers.yaml");
    let Reading { objects, mut problems } = text::read(&Arc::from("kinds/controllers.yaml"), text);
    let read = objects.iter().map(GatewayController::read);
    let controllers = read.filter_map(|it| it.map_err(|errors| problems.extend(errors)).ok()).collect();
    (controllers, problems)
}

impl Controllers {
    /// Adds the controllers of the GatewayController documents among the objects, and returns the problems of the
    /// documents. A document replaces a controller of the same name.
    pub fn with_documents(&self, objects: &Objects) -> (Controllers, Vec<Problem>) {
        let documents = objects.of_kind(GROUP, GATEWAY_CONTROLLER);
        if documents.is_empty() {
            return (self.clone(), Vec::new());
        }
        let mut problems = Vec::new();
        let read = documents.iter().map(|id| GatewayController::read(&objects[*id]));
        let mut all: Vec<GatewayController> =
            read.filter_map(|it| it.map_err(|errors| problems.extend(errors)).ok()).collect();
        let given = all.len();
        for controller in self.iter() {
            if all[..given].iter().all(|it| it.name != controller.name) {
                all.push(controller.clone());
            }
        }
        (Controllers { known: all.into(), is_strict: self.is_strict }, problems)
    }

    /// Every controller: those of the input first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &GatewayController> + Clone {
        self.known.iter()
    }

    /// The same controllers, but without the assumption that an unknown GatewayClass belongs to the controller of the
    /// policies.
    pub fn strict(self) -> Controllers {
        Controllers { is_strict: true, ..self }
    }

    /// Whether policies are in force on Gateways whose class is unknown.
    pub fn assume_classes(&self) -> bool {
        !self.is_strict
    }

    /// Whether policies of a kind are in force on the Gateways of a class.
    pub fn handle(&self, kind: &KindControllers, owner: ClassOwner<'_>) -> bool {
        match owner {
            ClassOwner::Unknown { .. } if self.is_strict => kind.references.is_empty(),
            _ => kind.handle(owner),
        }
    }

    /// The controller that GatewayClasses refer to by a `controllerName`.
    pub fn find(&self, controller_name: &str) -> Option<&GatewayController> {
        self.iter().find(|controller| controller.has_name(controller_name))
    }

    /// The controller with this name of its document.
    pub fn named(&self, name: &str) -> Option<&GatewayController> {
        self.iter().find(|controller| controller.name == name)
    }

    /// The controller of the Gateways of a class.
    pub fn class_owner<'a>(&'a self, objects: &'a Objects, class: &'a str) -> ClassOwner<'a> {
        let object = objects.lookup(GATEWAY_API, "GatewayClass", "", class).and_then(|id| objects.get(id));
        if let Some(controller_name) = object.and_then(|class| class.spec().get_str("controllerName")) {
            return match self.find(controller_name) {
                Some(controller) => ClassOwner::Known { controller, controller_name },
                None => ClassOwner::Other { controller_name },
            };
        }
        let own = |controller: &'a GatewayController| {
            let (_, name) = controller.classes.iter().find(|(name, _)| name == class)?;
            Some(ClassOwner::Known { controller, controller_name: name })
        };
        self.iter().find_map(own).unwrap_or(ClassOwner::Unknown { class })
    }

    /// Whether the controller of a Gateway defines a protocol of listeners. For an unknown controller: whether any
    /// controller does.
    pub fn define_protocol(&self, objects: &Objects, gateway: &Object, protocol: &str) -> bool {
        let defines = |controller: &GatewayController| controller.supports.protocols.iter().any(|it| it == protocol);
        match self.gateway_owner(objects, gateway) {
            ClassOwner::Known { controller, .. } => defines(controller),
            ClassOwner::Other { .. } | ClassOwner::Unknown { .. } => self.iter().any(defines),
        }
    }

    /// The controller of a Gateway.
    pub fn gateway_owner<'a>(&'a self, objects: &'a Objects, gateway: &'a Object) -> ClassOwner<'a> {
        self.class_owner(objects, gateway.spec().get_str("gatewayClassName").unwrap_or_default())
    }
}

impl<'a> ClassOwner<'a> {
    /// The features of the controller. An unknown controller has those of the Gateway API.
    pub fn supports(&self) -> &'a ControllerFeatures {
        static UNKNOWN: LazyLock<ControllerFeatures> = LazyLock::new(ControllerFeatures::default);
        match self {
            ClassOwner::Known { controller, .. } => &controller.supports,
            ClassOwner::Other { .. } | ClassOwner::Unknown { .. } => &UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(yaml: &str) -> Objects {
        Objects::new(text::read(&Arc::from("test.yaml"), yaml).objects)
    }

    #[test]
    fn the_built_in_controllers_have_no_problems() {
        let (controllers, problems) = built_in();
        assert!(problems.is_empty(), "{problems:?}");
        assert!(controllers.len() > 10);
        for controller in &controllers {
            for (class, name) in controller.classes.iter() {
                assert!(controller.has_name(name), "{}: {class} has another controllerName", controller.name);
            }
        }
    }

    #[test]
    fn a_class_belongs_to_a_known_controller_to_another_one_or_is_unknown() {
        let objects = objects(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec: {controllerName: example.com/controller}
",
        );
        let controllers = Controllers::default();
        let owner = |class| controllers.class_owner(&objects, class);
        assert!(matches!(owner("eg"), ClassOwner::Known { controller, .. } if controller.name == "envoy-gateway"));
        assert_eq!(owner("istio"), ClassOwner::Other { controller_name: "example.com/controller" });
        assert!(
            matches!(owner("nginx"), ClassOwner::Known { controller_name, .. } if controller_name.contains("nginx"))
        );
        assert_eq!(owner("my-class"), ClassOwner::Unknown { class: "my-class" });
    }

    #[test]
    fn a_document_replaces_a_controller_of_the_same_name() {
        let objects = objects(
            "
apiVersion: attache.dev/v1alpha1
kind: GatewayController
metadata: {name: envoy-gateway}
spec: {title: Our Envoy Gateway, controllerNames: [acme.io/eg]}
",
        );
        let (controllers, problems) = Controllers::default().with_documents(&objects);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(controllers.find("acme.io/eg").map(|it| it.title.as_str()), Some("Our Envoy Gateway"));
        assert_eq!(controllers.find("gateway.envoyproxy.io/gatewayclass-controller"), None);
        assert_eq!(controllers.iter().len(), Controllers::default().iter().len());
    }
}
