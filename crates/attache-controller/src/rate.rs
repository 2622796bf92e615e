//! A limit on the number of writes.

use std::time::{Duration, Instant};

/// A token bucket: a write takes a token, and tokens are added at a constant rate.
#[derive(Debug)]
pub struct RateLimit {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl RateLimit {
    /// A full bucket.
    pub fn new(per_second: f64, burst: u32, now: Instant) -> RateLimit {
        let burst = f64::from(burst);
        RateLimit { per_second: per_second.max(0.001), burst, tokens: burst, filled: now }
    }

    /// Takes a token, or returns the time until there is one.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let elapsed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.burst);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / self.per_second))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_a_constant_rate() {
        let start = Instant::now();
        let mut limit = RateLimit::new(10.0, 3, start);
        assert!((0..3).all(|_| limit.take(start).is_ok()));
        let wait = limit.take(start).unwrap_err();
        assert!(wait > Duration::from_millis(99) && wait < Duration::from_millis(101), "{wait:?}");
        let later = start + Duration::from_millis(205);
        assert!(limit.take(later).is_ok() && limit.take(later).is_ok() && limit.take(later).is_err());
    }
}
