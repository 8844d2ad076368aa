//! Distances to the layout's last date, the last node id and the largest skew of clocks, for
//! `doctor` and the page. The alerts in `docs/operations` forecast from metrics when a limit will
//! be reached.

use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::lease::{Finding, MAX_SKEW, Occupancy};
use randflake_std::randflake_core::LayoutSpec;

const DAY_S: u64 = 24 * 60 * 60;
/// So long before its last date, a layout is a caution: 180 days.
const AHEAD: Duration = Duration::from_secs(180 * DAY_S);

/// The layout's last date: afterwards no id can be made.
pub fn last_date(spec: LayoutSpec, now: Duration) -> Finding {
    const NAME: &str = "last date";
    let last = Duration::from_millis(spec.unix_ms(spec.max_tick()));
    let left = Duration::from_millis(spec.end_unix_ms()).saturating_sub(now);
    let days = left.as_secs() / DAY_S;
    if left.is_zero() {
        let sentence = "no more ids can be made: choose a layout or an epoch with later times, in another namespace";
        return Finding::wrong(NAME, utc(last), sentence);
    }
    let value = format!("{}, in {days} days", utc(last));
    if left <= AHEAD {
        let sentence =
            "choose a layout or an epoch with later times, in another namespace, before that";
        return Finding::caution(NAME, value, sentence);
    }
    Finding::fine(NAME, value)
}

/// How many node ids are leased.
pub fn node_ids(occupancy: Occupancy) -> Finding {
    const NAME: &str = "occupancy";
    let Occupancy { live, total } = occupancy;
    let value = format!("{live} of {total} leased");
    if live >= total {
        return Finding::wrong(
            NAME,
            value,
            "no process can start until a lease ends: end processes, or take a layout with more node ids",
        );
    }
    // From four fifths on.
    if live * 5 >= total * 4 {
        let sentence = "few are left: end processes, or take a layout with more node ids, in another namespace";
        return Finding::caution(NAME, value, sentence);
    }
    Finding::fine(NAME, value)
}

/// How far the store's clock is from this machine's, in seconds.
pub fn clock_skew(skew_s: f64) -> Finding {
    const NAME: &str = "clock skew";
    let most = MAX_SKEW.as_secs_f64();
    let value = format!("{skew_s:+.3} s");
    let sentence =
        format!("acquires are refused over {most} s: set the clocks of machine and store (NTP)");
    match skew_s.abs() / most {
        1.0.. => Finding::wrong(NAME, value, sentence),
        0.5.. => Finding::caution(NAME, value, sentence),
        _ => Finding::fine(NAME, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use randflake_std::lease::Verdict;
    use randflake_std::randflake_core::LAYOUTS;

    fn is_caution(finding: &Finding) -> bool {
        matches!(finding.verdict, Verdict::Caution(_))
    }

    fn is_wrong(finding: &Finding) -> bool {
        matches!(finding.verdict, Verdict::Wrong(_))
    }

    #[test]
    fn a_last_date_is_told_180_days_before() {
        for (_, spec) in LAYOUTS {
            let over = spec.unix_ms(spec.max_tick()) + spec.tick_ms();
            let over = Duration::from_millis(over);
            let second = Duration::from_secs(1);
            let before = |left: Duration| last_date(spec, over.saturating_sub(left));
            assert_eq!(before(AHEAD + second).verdict, Verdict::Fine);
            assert!(is_caution(&before(AHEAD)));
            assert!(is_caution(&before(second)));
            assert!(is_wrong(&before(Duration::ZERO)));
        }
    }

    #[test]
    fn a_skew_is_told_before_it_is_refused() {
        assert_eq!(clock_skew(0.41).verdict, Verdict::Fine);
        for skew in [5.5, -5.5] {
            assert!(is_caution(&clock_skew(skew)));
        }
        for skew in [10.5, -10.5] {
            assert!(is_wrong(&clock_skew(skew)));
        }
    }

    #[test]
    fn few_node_ids_are_told() {
        let leased = |live| node_ids(Occupancy { live, total: 10 });
        assert_eq!(leased(7).verdict, Verdict::Fine);
        assert!(is_caution(&leased(8)));
        assert!(is_wrong(&leased(10)));
        // The least that a layout has, and of four three are not four fifths.
        for (live, total) in [(0, 2), (1, 2), (3, 4)] {
            assert_eq!(node_ids(Occupancy { live, total }).verdict, Verdict::Fine);
        }
    }
}
