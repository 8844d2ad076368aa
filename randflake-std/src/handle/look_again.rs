//! When a holder whose connection broke checks its store, before the next renewal: the rule, without a clock or a
//! store.
//!
//! A server that comes back empty, or as another one, breaks its connections. A holder that checks soon after
//! learns that its leases are gone, and stops. Safety does not depend on it: a holder that notices no break renews
//! as always.

use core::time::Duration;
use std::time::Instant;

/// Longest pause before a check, which spreads the holders whose connections broke together.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
// At the default TTL of 60 s a connection is looked at every 3 s, so a break is noticed long before
// the next renewal, some 20 s away.
const PAUSES_PER_TTL: u32 = 20;
/// Limits checks per TTL, in case a server closes idle connections.
const LOOKS_PER_TTL: u32 = 6;
/// Shortest period of looking at the connection.
const SHORTEST_PERIOD: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct LookAgain {
    /// Period of looking at the connection.
    period: Duration,
    pause: Duration,
    apart: Duration,
    /// When to look at the connection next.
    check_at: Instant,
    /// When to check the store, if the connection broke.
    look_at: Option<Instant>,
    /// No check of the store before this.
    not_before: Instant,
}

impl LookAgain {
    pub(super) fn new(ttl: Duration, now: Instant) -> Self {
        let part = ttl / PAUSES_PER_TTL;
        // Looking is a system call for each holder: with a TTL of a second it would be one in 50 ms.
        let period = part.max(SHORTEST_PERIOD);
        Self {
            period,
            pause: part.min(LONGEST_PAUSE),
            apart: ttl / LOOKS_PER_TTL,
            check_at: now + period,
            look_at: None,
            not_before: now,
        }
    }

    /// Time until [`step`](LookAgain::step) is due.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        let next = self.look_at.unwrap_or(self.check_at);
        next.saturating_duration_since(now)
    }

    /// Whether to check the store now. `part`, 0 to 1, is the random part of the longest pause to wait.
    pub(super) fn step(
        &mut self,
        now: Instant,
        has_disconnected: impl FnOnce() -> bool,
        part: f64,
    ) -> bool {
        if let Some(look_at) = self.look_at {
            if now < look_at {
                return false;
            }
            self.look_at = None;
            // Also where a connection breaks each time that it is idle: at most one read in a sixth of a TTL.
            self.not_before = now + self.apart;
            self.check_at = now + self.period;
            return true;
        }
        if now >= self.check_at {
            // From now, not from when it was due: after a suspend the looks that were missed are not made up for.
            self.check_at = now + self.period;
            if has_disconnected() {
                let look_at = now + self.pause.mul_f64(part);
                self.look_at = Some(look_at.max(self.not_before));
            }
        }
        false
    }
}

// Pure arithmetic, much of it: Miri would take minutes and see nothing.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(60);
    const MS: Duration = Duration::from_millis(1);

    /// How many looks there are in each tenth of a second of a minute, of 1,000 holders.
    fn looks(is_broken: impl Fn(u32) -> bool) -> Vec<u32> {
        let begun = Instant::now();
        let now = begun + MS * 1_000;
        let mut looks = vec![0; 600];
        for holder in 0..1_000_u32 {
            // They began at different times.
            let mut rule = LookAgain::new(TTL, begun + MS * holder);
            for (tenth, count) in (0..).zip(&mut looks) {
                let part = f64::from((holder * 7_919 + tenth * 104_729) % 1_000) / 1_000.0;
                let at = now + MS * 100 * tenth;
                *count += u32::from(rule.step(at, || is_broken(tenth), part));
            }
        }
        looks
    }

    #[test]
    fn a_break_of_all_connections_is_seen_within_a_period_and_a_second_without_a_storm() {
        // Each says it once.
        let looks = looks(|tenth| (100..130).contains(&tenth));
        assert_eq!(looks.iter().sum::<u32>(), 1_000);
        assert!(looks[..100].iter().all(|count| *count == 0));
        assert_eq!(looks[100..142].iter().sum::<u32>(), 1_000);
        assert!(looks.iter().all(|count| *count < 150), "{looks:?}");
    }

    #[test]
    fn a_server_that_closes_idle_connections_is_asked_six_times_in_a_ttl() {
        let looks = looks(|_| true);
        let all = looks.iter().sum::<u32>();
        assert!((5_000..=6_000).contains(&all), "{all}");
    }

    #[test]
    fn each_step_is_taken_at_its_moment_and_not_before() {
        let before = |at: Instant| at.checked_sub(MS).unwrap();
        let unasked = || -> bool { panic!("it is not due") };
        let begun = Instant::now();
        let mut rule = LookAgain::new(TTL, begun);
        let due = begun + TTL / 20;
        assert!(!rule.step(before(due), unasked, 0.5));
        assert!(!rule.step(due, || true, 0.5));
        assert_eq!(rule.pause(due), LONGEST_PAUSE / 2);
        let check = due + LONGEST_PAUSE / 2;
        assert!(!rule.step(before(check), unasked, 0.5));
        assert!(rule.step(check, unasked, 0.5));
        assert_eq!(rule.pause(check), TTL / 20);
        let due = check + TTL / 20;
        assert!(!rule.step(due, || false, 0.5));
        assert_eq!(rule.pause(due), TTL / 20);
        let due = due + TTL / 20;
        assert!(!rule.step(due, || true, 0.5));
        assert_eq!(due + rule.pause(due), check + TTL / 6);
    }

    #[test]
    fn nothing_is_asked_of_a_server_that_keeps_connections() {
        assert_eq!(looks(|_| false).iter().sum::<u32>(), 0);
        let now = Instant::now();
        assert_eq!(LookAgain::new(TTL, now).pause(now), TTL / 20);
    }
}
