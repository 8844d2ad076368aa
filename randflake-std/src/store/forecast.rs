//! What runs out, and when: for `doctor`, metrics and pages.

use core::time::Duration;

use randflake_core::LayoutSpec;

use super::{LeaseStore, Occupancy};
use crate::date::utc;
use crate::vocabulary::{Finding, MAX_SKEW, StoreError};

const DAY_S: u64 = 24 * 60 * 60;
/// So long before something runs out, a forecast is a [`Caution`](crate::vocabulary::Verdict::Caution): 180 days.
pub const AHEAD: Duration = Duration::from_secs(180 * DAY_S);
/// Over this time the growth of a fleet is measured.
const LOOK_BACK: Duration = Duration::from_secs(28 * DAY_S);

/// How far something is used up.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The part that is used: 1 when nothing is left.
    pub used: f64,
    /// When nothing is left if it goes on as before, as time since the Unix epoch; none if that cannot be told.
    pub over_at: Option<Duration>,
    /// The same, for people: named `last date`, `occupancy`, `ticks` or `clock skew`.
    pub finding: Finding,
}

/// The layout's last date: afterwards no id can be made.
///
/// ```
/// use randflake_std::lease::Verdict;
/// use randflake_std::lease::forecast::last_date;
/// use randflake_std::{Layout, Randflake};
/// use std::time::Duration;
///
/// let now = Duration::from_secs(1_795_348_800); // 2026-11-22
/// let forecast = last_date(Randflake::SPEC, now);
/// assert_eq!(forecast.finding.verdict, Verdict::Fine);
/// assert!(forecast.finding.value.starts_with("2058-11-05"));
/// assert!(forecast.used < 0.07);
/// ```
#[must_use]
pub fn last_date(spec: LayoutSpec, now: Duration) -> Forecast {
    const NAME: &str = "last date";
    let (first, last) = (unix(spec, 0), unix(spec, spec.max_tick()));
    let over_at = last + Duration::from_millis(spec.tick_ms());
    let left = over_at.saturating_sub(now);
    let days = left.as_secs() / DAY_S;
    let finding = if left.is_zero() {
        let sentence = "no more ids can be made: choose a layout or an epoch with later times, in another namespace";
        Finding::wrong(NAME, utc(last), sentence)
    } else if left <= AHEAD {
        let sentence =
            "choose a layout or an epoch with later times, in another namespace, before that";
        Finding::caution(NAME, format!("{}, in {days} days", utc(last)), sentence)
    } else {
        Finding::fine(NAME, format!("{}, in {days} days", utc(last)))
    };
    Forecast {
        used: ratio(now.saturating_sub(first), over_at.saturating_sub(first)),
        over_at: Some(over_at),
        finding,
    }
}

/// How many node ids were leased 28 days ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    now: Duration,
    live_before: u64,
}

impl Growth {
    /// Asks the store; `None` if its history does not reach back so far.
    ///
    /// # Errors
    ///
    /// As for [`LeaseStore::live_at`].
    pub fn of(store: &mut LeaseStore) -> Result<Option<Self>, StoreError> {
        let now = store.now()?;
        let before = now.saturating_sub(LOOK_BACK);
        let live = store.live_at(before)?;
        Ok(live.map(|live_before| Self { now, live_before }))
    }
}

/// How soon all node ids are leased, if the fleet goes on growing as in the last 28 days; without its growth, only how many
/// are leased.
#[must_use]
pub fn node_ids(occupancy: Occupancy, growth: Option<Growth>) -> Forecast {
    const NAME: &str = "occupancy";
    /// Below this part a fleet may double before anybody has to act.
    const SPARE: f64 = 0.5;
    const FEW_LEFT: f64 = 0.8;

    let Occupancy { live, total } = occupancy;
    let used = to_f64(live) / to_f64(total);
    let over_at = growth.and_then(|growth| full_at(occupancy, growth));
    let value = format!("{live} of {total} leased");
    let soon = over_at
        .zip(growth)
        .filter(|(over_at, growth)| used >= SPARE && over_at.saturating_sub(growth.now) <= AHEAD);
    let finding = match soon {
        _ if live >= total => Finding::wrong(
            NAME,
            value,
            "no process can start until a lease ends: end processes, or take a layout with more node ids",
        ),
        Some((over_at, _)) => Finding::caution(
            NAME,
            value,
            format!(
                "at the growth of the last 28 days all are leased on {}: take a layout with more node ids, in another \
                 namespace",
                utc(over_at)
            ),
        ),
        None if used >= FEW_LEFT => Finding::caution(
            NAME,
            value,
            "few are left: end processes, or take a layout with more node ids, in another namespace",
        ),
        None => Finding::fine(NAME, value),
    };
    Forecast {
        used,
        over_at,
        finding,
    }
}

fn full_at(occupancy: Occupancy, growth: Growth) -> Option<Duration> {
    // A fleet that shrinks, or stays as it is, never fills the namespace.
    let grown = occupancy
        .live
        .checked_sub(growth.live_before)
        .filter(|grown| *grown > 0)?;
    let left = occupancy.total.saturating_sub(occupancy.live);
    let spans = to_f64(left) / to_f64(grown);
    // A thousand years suffice.
    let wait = LOOK_BACK.mul_f64(spans.min(13_000.0));
    Some(growth.now + wait)
}

/// How much of its ticks' sequences a process uses, from the ids a second that it issues by its leases of so many node ids.
#[must_use]
pub fn ticks(spec: LayoutSpec, leases: usize, ids_per_second: f64) -> Forecast {
    const NAME: &str = "ticks";
    const FEW_LEFT: f64 = 0.8;
    let capacity = capacity(spec, leases);
    let used = if capacity > 0.0 {
        ids_per_second / capacity
    } else {
        0.0
    };
    let value = format!("{ids_per_second:.0} of {capacity:.0} ids a second");
    let finding = if used >= FEW_LEFT {
        let sentence =
            "calls will have to wait for the next tick: let each process take more node ids";
        Finding::caution(NAME, value, sentence)
    } else {
        Finding::fine(NAME, value)
    };
    Forecast {
        used,
        over_at: None,
        finding,
    }
}

/// How many ids a second leases of so many node ids allow.
#[must_use]
pub fn capacity(spec: LayoutSpec, leases: usize) -> f64 {
    let per_tick = f64::from(spec.max_sequence()) + 1.0;
    per_tick * to_f64(leases as u64) * 1_000.0 / to_f64(spec.tick_ms())
}

/// How near the difference of two clocks is to [`MAX_SKEW`], from earlier differences: each with its time since the Unix
/// epoch, in seconds and in their order. The last one is the present one.
#[must_use]
pub fn clock_skew(samples: &[(Duration, f64)]) -> Forecast {
    const NAME: &str = "clock skew";
    /// Noise of a network is less.
    const LEAST_GROWTH: f64 = 0.1;

    let (now, skew) = samples.last().copied().unwrap_or_default();
    let most = MAX_SKEW.as_secs_f64();
    let used = skew.abs() / most;
    let (since, first) = samples.first().copied().unwrap_or_default();
    let grown = skew.abs() - first.abs();
    let passed = now.saturating_sub(since);
    let over_at = (grown > LEAST_GROWTH && used < 1.0).then(|| {
        // At most 100 times the time that was looked at.
        now + passed.mul_f64((most - skew.abs()) / grown)
    });
    let value = format!("{skew:+.3} s");
    let finding = match over_at {
        _ if used >= 1.0 => Finding::wrong(
            NAME,
            value,
            format!(
                "acquires are refused over {most} s: set the clocks of machine and store (NTP)"
            ),
        ),
        Some(over_at) => Finding::caution(
            NAME,
            value,
            format!(
                "it grows, and reaches {most} s on {}, when acquires are refused: set the clocks of machine and store \
                 (NTP)",
                utc(over_at)
            ),
        ),
        None if used >= 0.5 => Finding::caution(
            NAME,
            value,
            format!(
                "acquires are refused over {most} s: set the clocks of machine and store (NTP)"
            ),
        ),
        None => Finding::fine(NAME, value),
    };
    Forecast {
        used,
        over_at,
        finding,
    }
}

fn unix(spec: LayoutSpec, tick: u64) -> Duration {
    Duration::from_millis(spec.unix_ms(tick))
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "for a ratio")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Verdict;
    use randflake_core::{
        Baidu, Discord, Instagram, Layout, Mastodon, Randflake, Snowflake, Sonyflake,
    };

    fn is_caution(forecast: &Forecast) -> bool {
        matches!(forecast.finding.verdict, Verdict::Caution(_))
    }

    fn is_wrong(forecast: &Forecast) -> bool {
        matches!(forecast.finding.verdict, Verdict::Wrong(_))
    }

    #[test]
    fn a_last_date_is_told_180_days_before() {
        for spec in [
            Randflake::SPEC,
            Snowflake::SPEC,
            Sonyflake::SPEC,
            Discord::SPEC,
            Instagram::SPEC,
            Mastodon::SPEC,
            Baidu::SPEC,
        ] {
            let over = unix(spec, spec.max_tick()) + Duration::from_millis(spec.tick_ms());
            let second = Duration::from_secs(1);
            let before = |left: Duration| last_date(spec, over.saturating_sub(left));
            assert_eq!(before(AHEAD + second).finding.verdict, Verdict::Fine);
            assert!(is_caution(&before(AHEAD)));
            assert!(is_caution(&before(second)));
            let last = before(Duration::ZERO);
            assert!(is_wrong(&last));
            assert!((last.used - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn used_up_ticks_are_told() {
        assert!((capacity(Randflake::SPEC, 2) - 262_144.0).abs() < 0.5);
        assert!((capacity(Snowflake::SPEC, 1) - 4_096_000.0).abs() < 0.5);
        assert!(!is_caution(&ticks(Randflake::SPEC, 1, 100_000.0)));
        assert!(is_caution(&ticks(Randflake::SPEC, 1, 110_000.0)));
        assert!(ticks(Randflake::SPEC, 0, 0.0).used.abs() < 1e-9);
    }

    #[test]
    fn a_skew_that_grows_is_told_before_it_is_refused() {
        let at = |seconds: u64| Duration::from_secs(1_800_000_000 + seconds);
        let steady = [(at(0), 0.4), (at(3_600), 0.41)];
        assert_eq!(clock_skew(&steady).finding.verdict, Verdict::Fine);
        let grows = [(at(0), -1.0), (at(1_800), -1.7), (at(3_600), -2.0)];
        let grows = clock_skew(&grows);
        assert!(is_caution(&grows));
        assert_eq!(grows.over_at, Some(at(3_600 + 8 * 3_600)));
        assert!(is_caution(&clock_skew(&[(at(0), 5.5)])));
        assert!(is_wrong(&clock_skew(&[(at(0), 10.5)])));
        assert_eq!(clock_skew(&[]).finding.verdict, Verdict::Fine);
    }

    #[test]
    fn few_node_ids_are_told() {
        let forecast = |live| node_ids(Occupancy { live, total: 8 }, None);
        assert_eq!(forecast(6).finding.verdict, Verdict::Fine);
        assert!(is_caution(&forecast(7)));
        assert!(is_wrong(&forecast(8)));
    }
}
