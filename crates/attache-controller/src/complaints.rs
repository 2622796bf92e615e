//! Logs what goes wrong again and again, once in a while.

use std::time::{Duration, Instant};

/// When something that still goes wrong is logged again.
const AGAIN: Duration = Duration::from_secs(300);

/// What goes wrong, and is tried again at short intervals.
#[derive(Debug, Default)]
pub struct Complaints {
    last: Option<(String, Instant)>,
}

impl Complaints {
    /// Something went wrong. It is logged, unless the same was logged a short time ago.
    pub fn add(&mut self, message: String) {
        if self.is_news(&message, Instant::now()) {
            tracing::warn!("{message}");
        }
    }

    /// Nothing is wrong any more.
    pub fn clear(&mut self) {
        if let Some((message, _)) = self.last.take() {
            tracing::info!("this is over: {message}");
        }
    }

    fn is_news(&mut self, message: &str, now: Instant) -> bool {
        let is_known = |(last, when): &(String, Instant)| last == message && now.duration_since(*when) < AGAIN;
        if self.last.as_ref().is_some_and(is_known) {
            return false;
        }
        self.last = Some((message.to_owned(), now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_in_a_while() {
        let (mut complaints, now) = (Complaints::default(), Instant::now());
        assert!(complaints.is_news("a", now));
        assert!(!complaints.is_news("a", now + Duration::from_secs(2)));
        assert!(complaints.is_news("b", now + Duration::from_secs(4)));
        assert!(!complaints.is_news("b", now + Duration::from_secs(6)));
        assert!(complaints.is_news("b", now + AGAIN * 2));
        complaints.clear();
        assert!(complaints.is_news("b", now + AGAIN * 2));
    }
}
