//! The queue of pending statuses: policies before targets, then the newest change first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::ObjectRef;

use super::desired::DesiredStatus;

/// The longest pause before a failed write is retried.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A pending status.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The desired status.
    pub desired: Arc<DesiredStatus>,
    /// The status that was desired before, until it is known to be removed.
    pub previous: Option<Arc<DesiredStatus>>,
    /// The time of the event that caused it.
    pub since: Instant,
    /// The number of attempts.
    pub attempts: u32,
}

type Key = (bool, Reverse<u64>, ObjectRef);

/// The queue of pending statuses.
#[derive(Debug, Default)]
pub struct Queue {
    pending: HashMap<ObjectRef, (u64, Pending)>,
    ready: BTreeSet<Key>,
    delayed: BTreeSet<(Instant, ObjectRef)>,
    in_flight: HashSet<ObjectRef>,
    next: u64,
}

impl Queue {
    /// The number of pending statuses.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Adds a status. It replaces a pending one of the same object.
    pub fn push(&mut self, id: ObjectRef, mut pending: Pending) {
        if let Some((_, known)) = self.remove(&id) {
            // What was desired in between has never been written.
            pending.previous = known.previous.or(pending.previous);
            pending.since = pending.since.min(known.since);
        }
        self.next += 1;
        if !self.in_flight.contains(&id) {
            self.ready.insert((pending.desired.policy.is_none(), Reverse(self.next), id.clone()));
        }
        self.pending.insert(id, (self.next, pending));
    }

    /// Removes the pending status of an object.
    pub fn remove(&mut self, id: &ObjectRef) -> Option<(u64, Pending)> {
        let (number, pending) = self.pending.remove(id)?;
        self.ready.remove(&(pending.desired.policy.is_none(), Reverse(number), id.clone()));
        self.delayed.retain(|(_, delayed)| delayed != id);
        Some((number, pending))
    }

    /// Removes all pending statuses.
    pub fn clear(&mut self) {
        (self.pending, self.ready, self.delayed) = Default::default();
    }

    /// Whether a status can be taken.
    pub fn is_ready(&mut self, now: Instant) -> bool {
        self.wake(now);
        !self.ready.is_empty()
    }

    /// Takes the next status. It is in flight until [`Queue::done`].
    pub fn pop(&mut self, now: Instant) -> Option<(ObjectRef, Pending)> {
        self.wake(now);
        let (_, _, id) = self.ready.pop_first()?;
        let (_, pending) = self.pending.remove(&id)?;
        self.in_flight.insert(id.clone());
        Some((id, pending))
    }

    fn wake(&mut self, now: Instant) {
        while let Some((when, id)) = self.delayed.first().filter(|(when, _)| *when <= now).cloned() {
            self.delayed.remove(&(when, id.clone()));
            if let Some((number, pending)) = self.pending.get(&id) {
                self.ready.insert((pending.desired.policy.is_none(), Reverse(*number), id));
            }
        }
    }

    /// The time at which the next delayed status is ready.
    pub fn next_time(&self) -> Option<Instant> {
        self.delayed.first().map(|(when, _)| *when)
    }

    /// Ends the flight of a status. A failed one is retried after a pause, unless a newer one is pending.
    pub fn done(&mut self, id: &ObjectRef, failed: Option<Pending>, now: Instant) {
        self.in_flight.remove(id);
        if let Some((number, pending)) = self.pending.get_mut(id) {
            if let Some(failed) = failed {
                pending.previous = failed.previous.or(pending.previous.take());
            }
            self.ready.insert((pending.desired.policy.is_none(), Reverse(*number), id.clone()));
        } else if let Some(mut failed) = failed {
            failed.attempts += 1;
            let pause = Duration::from_millis(100 << failed.attempts.min(10)).min(LONGEST_PAUSE);
            self.next += 1;
            self.delayed.insert((now + pause, id.clone()));
            self.pending.insert(id.clone(), (self.next, failed));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::desired::DesiredPolicy;
    use super::*;

    fn pending(is_policy: bool) -> Pending {
        let policy = DesiredPolicy { controller_name: "c".into(), conditions: Vec::new(), ancestors: Vec::new() };
        let desired = DesiredStatus { policy: is_policy.then_some(policy), ..DesiredStatus::default() };
        Pending { desired: Arc::new(desired), previous: None, since: Instant::now(), attempts: 0 }
    }

    fn id(name: &str) -> ObjectRef {
        ObjectRef::new("", "K", "n", name)
    }

    fn popped(queue: &mut Queue, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| queue.pop(now)).map(|(id, _)| id.name.to_string()).collect()
    }

    #[test]
    fn policies_come_first_and_then_the_newest() {
        let mut queue = Queue::default();
        for (name, is_policy) in [("t1", false), ("p1", true), ("t2", false), ("p2", true), ("t1", false)] {
            queue.push(id(name), pending(is_policy));
        }
        assert_eq!(queue.len(), 4);
        assert_eq!(popped(&mut queue, Instant::now()), ["p2", "p1", "t1", "t2"]);
    }

    #[test]
    fn an_object_is_not_written_twice_at_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(id("a"), pending(false));
        assert_eq!(popped(&mut queue, now), ["a"]);
        queue.push(id("a"), pending(false));
        assert!(popped(&mut queue, now).is_empty());
        queue.done(&id("a"), None, now);
        assert_eq!(popped(&mut queue, now), ["a"]);
        queue.done(&id("a"), None, now);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_failed_write_is_retried_later() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(id("a"), pending(false));
        let (a, taken) = queue.pop(now).unwrap();
        queue.done(&a, Some(taken), now);
        assert!(queue.pop(now).is_none());
        let (_, taken) = queue.pop(queue.next_time().unwrap()).unwrap();
        assert_eq!(taken.attempts, 1);
    }
}
