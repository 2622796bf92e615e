//! The shutdown of the process, requested by a signal.

use tokio::sync::watch;

/// Requests the shutdown.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

/// Tells a task when to end. A clone is cheap.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl ShutdownTrigger {
    /// A trigger, and the shutdown that it requests.
    pub fn new() -> (ShutdownTrigger, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownTrigger(sender), Shutdown(receiver))
    }

    /// Requests the shutdown.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether the shutdown is requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the shutdown is requested.
    pub async fn requested(&self) {
        // The sender is gone only when the process ends.
        let _ = self.0.clone().wait_for(|requested| *requested).await;
    }

    /// Calls a function when the shutdown is requested.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn on_request(&self, call: impl FnOnce() + Send + 'static) {
        let shutdown = self.clone();
        tokio::spawn(async move {
            shutdown.requested().await;
            call();
        });
    }
}
