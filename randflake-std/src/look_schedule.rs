//! Schedule of looks at a store between renewals: a rule without a clock or a store.
//!
//! A server that comes back empty, set back, or as another one breaks its connections, or leaves
//! calls unanswered. A holder that looks as soon as it is back learns that its leases are gone, and
//! stops. Files can be exchanged without a sign, so they are looked at regularly. Safety does not
//! depend on it: a holder that notices nothing renews as always.

use core::time::Duration;
use std::time::Instant;

/// Longest random part of a pause, which spreads holders whose connections broke together.
const LONGEST_SPREAD: Duration = Duration::from_secs(1);
// At the default TTL of 60 s a look each 3 s: long before the next renewal, some 20 s away, and 333
// looks a second of a thousand holders that all wait for their server.
const PERIODS_PER_TTL: u32 = 20;
/// Shortest time between two looks: to look at a connection is a system call for each holder, and
/// with a TTL of a second it would be one in 50 ms.
const SHORTEST_PERIOD: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct LookSchedule {
    /// Least time between two looks at the store, or at its connection.
    period: Duration,
    /// Longest random part of a pause.
    spread: Duration,
    /// Whether to look also where no call failed and no connection broke.
    is_regular: bool,
    /// Whether a call failed or the connection broke since the last answer.
    is_broken: bool,
    /// When to look at the store; `None` if there is no reason to.
    look_at: Option<Instant>,
    /// When to look at the connection next; `None` if that is not needed.
    check_at: Option<Instant>,
}

/// What to do between renewals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Wait,
    /// Look at the store, and say whether it has [answered](LookSchedule::answered) or
    /// [failed](LookSchedule::failed).
    Look,
    /// The same after a failure: read what could be lost.
    Read,
    /// Do now what is due soon, in the place of a look.
    Renew,
}

impl LookSchedule {
    /// The schedule of a holder of a store. Looks are `every` so often, and on a server no more
    /// often than a twentieth of the TTL; without `every`, after a failure alone. `None` if the
    /// store needs no looks. `part`, 0 to 1, is random.
    pub(crate) fn new(
        every: Option<Duration>,
        is_on_server: bool,
        ttl: Duration,
        now: Instant,
        part: f64,
    ) -> Option<Self> {
        let of_ttl = ttl / PERIODS_PER_TTL;
        let period = match every {
            Some(every) if is_on_server => every.max(of_ttl),
            Some(every) => every,
            None => of_ttl.max(SHORTEST_PERIOD),
        };
        // Holders that were started together do not look together.
        let first = now + period.mul_f64(part);
        let is_regular = every.is_some();
        (is_regular || is_on_server).then(|| Self {
            period,
            spread: if is_on_server {
                of_ttl.min(LONGEST_SPREAD)
            } else {
                // Each file is of one machine: its holders are no crowd.
                Duration::ZERO
            },
            is_regular,
            is_broken: false,
            look_at: is_regular.then_some(first),
            // A look finds out what the connection would tell.
            check_at: (!is_regular).then_some(first),
        })
    }

    /// Time until [`step`](LookSchedule::step) has something to do.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let next = [self.look_at, self.check_at].into_iter().flatten().min();
        next.map_or(Duration::MAX, |next| next.saturating_duration_since(now))
    }

    /// What to do now, if the next renewal is at `renewal`. `part`, 0 to 1, is random.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        renewal: Instant,
        has_disconnected: impl FnOnce() -> bool,
        part: f64,
    ) -> Step {
        if self.check_at.is_some_and(|check_at| check_at <= now) {
            // From now, not from when it was due: after a suspend the looks that were missed are
            // not made up for.
            self.check_at = Some(now + self.period);
            if has_disconnected() {
                self.is_broken = true;
                let look_at = now + self.spread.mul_f64(part);
                // Never later than it was: a connection may break again before the look.
                self.look_at = Some(self.look_at.map_or(look_at, |at| at.min(look_at)));
            }
        }
        if self.look_at.is_none_or(|look_at| now < look_at) {
            return Step::Wait;
        }
        // Until the caller says how it went.
        self.look_at = None;
        // A look that waits for its server must not delay a renewal, which is also a look.
        let is_soon = renewal.saturating_duration_since(now) <= self.period;
        match (self.is_broken, is_soon) {
            (false, false) => Step::Look,
            (true, false) => Step::Read,
            (true, true) => Step::Renew,
            (false, true) => {
                self.answered(now);
                Step::Wait
            }
        }
    }

    /// A call of the store was answered, whatever the answer was.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.is_broken = false;
        // A regular look is not put off: calls that fail each second would do so for ever.
        self.look_at = self
            .is_regular
            .then(|| self.look_at.unwrap_or(now + self.period));
    }

    /// A call of the store failed without an answer, so it is looked at until there is one. `part`,
    /// 0 to 1, is random.
    pub(crate) fn failed(&mut self, now: Instant, part: f64) {
        self.is_broken = true;
        let look_at = now + self.period + self.spread.mul_f64(part);
        self.look_at = Some(match self.look_at {
            Some(regular) if self.is_regular => regular,
            _ => look_at,
        });
    }
}

// Pure arithmetic, much of it: Miri would take minutes and see nothing.
#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(60);
    const MS: Duration = Duration::from_millis(1);
    const PERIOD: Duration = Duration::from_secs(3);

    fn of_server(now: Instant) -> LookSchedule {
        LookSchedule::new(None, true, TTL, now, 0.0).unwrap()
    }

    fn in_file(now: Instant) -> LookSchedule {
        LookSchedule::new(Some(LONGEST_SPREAD), false, TTL, now, 1.0).unwrap()
    }

    /// How many looks there are in each tenth of a second of a minute, of 1,000 holders that were
    /// started together. Connections break, and calls fail, in some tenths.
    fn looks(is_broken: impl Fn(u32) -> bool, is_away: impl Fn(u32) -> bool) -> Vec<u32> {
        let begun = Instant::now();
        let mut looks = vec![0; 600];
        for holder in 0..1_000_u32 {
            // No two holders go in step.
            let part = |number: u32| {
                let mixed = (holder.wrapping_mul(7_919) ^ number).wrapping_mul(0x9E37_79B9);
                f64::from(mixed.rotate_left(15).wrapping_mul(0x85EB_CA6B) >> 16) / 65_536.0
            };
            let mut rule = LookSchedule::new(None, true, TTL, begun, part(1)).unwrap();
            for (tenth, count) in (0..).zip(&mut looks) {
                let at = begun + MS * 100 * tenth;
                let renewal = at + TTL / 3;
                if rule.step(at, renewal, || is_broken(tenth), part(tenth)) == Step::Read {
                    *count += 1;
                    if is_away(tenth) {
                        rule.failed(at, part(tenth));
                    } else {
                        rule.answered(at);
                    }
                }
            }
        }
        looks
    }

    /// 333 looks a second: in no 3 s more than one of each holder, and a tenth for chance.
    fn is_no_storm(looks: &[u32]) -> bool {
        let mut periods = looks.windows(30);
        periods.all(|tenths| tenths.iter().sum::<u32>() <= 1_100)
    }

    #[test]
    fn break_of_all_connections_causes_no_storm() {
        // Each says it once.
        let looks = looks(|tenth| (100..130).contains(&tenth), |_| false);
        assert_eq!(looks.iter().sum::<u32>(), 1_000);
        assert!(looks[..100].iter().all(|count| *count == 0));
        assert_eq!(looks[100..142].iter().sum::<u32>(), 1_000);
        assert!(is_no_storm(&looks), "{looks:?}");
    }

    #[test]
    fn absent_server_is_looked_at_until_it_answers() {
        // Away for 30 s, ten renewals' first pauses and many periods.
        let looks = looks(|tenth| (100..130).contains(&tenth), |tenth| tenth < 400);
        assert!(is_no_storm(&looks), "{looks:?}");
        // Each has looked within a period and a second of the moment from which there were answers,
        // and no more since.
        assert_eq!(looks[400..442].iter().sum::<u32>(), 1_000, "{looks:?}");
        assert_eq!(looks[442..].iter().sum::<u32>(), 0);
        // And in each such time before that.
        for from in (142..358).step_by(42) {
            assert!(looks[from..from + 42].iter().sum::<u32>() >= 1_000);
        }
    }

    #[test]
    fn idle_closes_cause_one_look_per_period() {
        let looks = looks(|_| true, |_| false);
        let all = looks.iter().sum::<u32>();
        assert!((15_000..=20_000).contains(&all), "{all}");
        assert!(is_no_storm(&looks), "{looks:?}");
    }

    #[test]
    fn calls_between_regular_looks_put_none_off() {
        let begun = Instant::now();
        let mut rule = in_file(begun);
        let due = begun + LONGEST_SPREAD;
        for at in [begun + MS, due.checked_sub(MS).unwrap()] {
            rule.answered(at);
            rule.failed(at, 0.5);
            assert_eq!(rule.step(at, at + TTL, || false, 0.5), Step::Wait);
        }
        assert_eq!(rule.pause(begun), LONGEST_SPREAD);
        assert_eq!(rule.step(due, due + TTL, || false, 0.5), Step::Read);
        rule.failed(due, 0.5);
        assert_eq!(rule.pause(due), LONGEST_SPREAD);
    }

    #[test]
    fn each_step_is_taken_at_its_moment_and_not_before() {
        let before = |at: Instant| at.checked_sub(MS).unwrap();
        let unasked = || -> bool { panic!("it is not due") };
        let begun = Instant::now();
        let later = begun + TTL * 10;
        let mut rule = of_server(begun);
        assert_eq!(rule.step(begun, later, || false, 0.5), Step::Wait);
        assert_eq!(rule.pause(begun), PERIOD);
        let due = begun + PERIOD;
        assert_eq!(rule.step(before(due), later, unasked, 0.5), Step::Wait);
        assert_eq!(rule.step(due, later, || true, 0.5), Step::Wait);
        assert_eq!(rule.pause(due), LONGEST_SPREAD / 2);
        let look = due + LONGEST_SPREAD / 2;
        assert_eq!(rule.step(before(look), later, unasked, 0.5), Step::Wait);
        assert_eq!(rule.step(look, later, unasked, 0.5), Step::Read);
        rule.failed(look, 0.5);
        let again = look + PERIOD + LONGEST_SPREAD / 2;
        assert_eq!(rule.step(before(again), later, || false, 0.5), Step::Wait);
        // A broken connection does not put off a look that is due already.
        assert_eq!(rule.step(again, later, || true, 1.0), Step::Read);
        rule.answered(again);
        let quiet = again + PERIOD * 2;
        assert_eq!(rule.step(quiet, later, || false, 0.5), Step::Wait);
        // A call of another kind that fails.
        rule.failed(quiet, 1.0);
        let look = quiet + PERIOD + LONGEST_SPREAD;
        assert_eq!(rule.step(look, later, || false, 0.5), Step::Read);
    }

    #[test]
    fn look_gives_way_to_a_renewal_due_soon() {
        let begun = Instant::now();
        let mut broken = of_server(begun);
        broken.failed(begun, 0.0);
        let look = begun + PERIOD;
        let soon = look + PERIOD;
        assert_eq!(broken.step(look, soon, || false, 0.0), Step::Renew);
        broken.failed(begun, 0.0);
        assert_eq!(broken.step(look, soon + MS, || false, 0.0), Step::Read);
        let mut regular = LookSchedule::new(Some(PERIOD), true, TTL, begun, 1.0).unwrap();
        assert_eq!(regular.step(look, soon, || false, 0.0), Step::Wait);
        assert_eq!(regular.pause(look), PERIOD);
        assert_eq!(regular.step(soon, soon + TTL, || false, 0.0), Step::Look);
    }

    #[test]
    fn files_are_looked_at_each_second() {
        let unasked = || -> bool { panic!("a file has no connection") };
        let mut now = Instant::now();
        let later = now + TTL * 10;
        let mut rule = in_file(now);
        let mut is_answered = true;
        for next in [true, false, true, true] {
            let due = now + rule.pause(now);
            let before = due.checked_sub(MS).unwrap();
            assert_eq!(rule.step(before, later, unasked, 0.0), Step::Wait);
            let step = rule.step(due, later, unasked, 0.0);
            assert_eq!(step, if is_answered { Step::Look } else { Step::Read });
            assert!(due <= now + LONGEST_SPREAD);
            (now, is_answered) = (due, next);
            if is_answered {
                rule.answered(now);
            } else {
                rule.failed(now, 1.0);
            }
        }
    }

    #[test]
    fn server_looks_are_a_twentieth_of_the_ttl_apart() {
        let now = Instant::now();
        for (every, ttl, period) in [
            (LONGEST_SPREAD, TTL, PERIOD),
            (LONGEST_SPREAD, TTL / 20, LONGEST_SPREAD),
        ] {
            let mut rule = LookSchedule::new(Some(every), true, ttl, now, 0.5).unwrap();
            let due = now + period / 2;
            assert_eq!(rule.pause(now), period / 2);
            assert_eq!(rule.step(due, due + ttl, || false, 0.5), Step::Look);
            rule.answered(due);
            assert_eq!(rule.pause(due), period);
        }
    }

    #[test]
    fn server_that_keeps_connections_is_not_asked() {
        assert_eq!(looks(|_| false, |_| false).iter().sum::<u32>(), 0);
        assert!(LookSchedule::new(None, false, TTL, Instant::now(), 0.0).is_none());
    }
}
