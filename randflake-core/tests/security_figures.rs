//! The figures of docs/security.md about ids of 53 bits and tagged UUIDs, computed as it says.
//! `--nocapture` shows them.

#![expect(clippy::cast_possible_truncation, reason = "exponents are small")]
#![expect(clippy::print_stdout, reason = "the figures are also for readers")]

const SECURITY: &str = include_str!("../../docs/security.md");

const ROUNDS: u32 = 26;
const FF1_ROUNDS: u32 = 10;
/// Widths of the halves, the one that the first round changes first.
const FORWARDS: [i32; 2] = [26, 27];
const BACKWARDS: [i32; 2] = [27, 26];
/// Steps of a sum that is above the integral, as what is summed grows.
const STEPS: u32 = 4_000;

/// Bound of the probability that two networks which agree on `others` numbers do not end with the
/// same on one more.
fn not_coupled(others: f64, rounds: u32, widths: [i32; 2]) -> f64 {
    // What follows on a bad round, and on a good one: computed from the last round to the second.
    let (mut after_bad, mut after_good) = (1.0, 1.0);
    let meets = widths.map(|width| others / 2_f64.powi(width));
    for round in (2..=rounds).rev() {
        let meets = meets[(round % 2) as usize];
        let [both, one] = [2.0 * meets, meets].map(|p| p.min(1.0));
        (after_bad, after_good) = (
            both * after_bad + (1.0 - both) * after_good,
            one * after_bad,
        );
    }
    after_bad
}

/// Bound of the advantage of who chooses `ids` plaintexts beforehand.
fn chosen_before(ids: f64, rounds: u32, widths: [i32; 2]) -> f64 {
    let step = ids / f64::from(STEPS);
    (1..=STEPS)
        .map(|k| step * not_coupled(step * f64::from(k), rounds, widths))
        .sum()
}

/// Bound of the advantage of who sees ids.
fn seen(ids: f64, rounds: u32) -> f64 {
    chosen_before(ids, rounds, FORWARDS)
}

/// Bound of the advantage of who chooses plaintexts and ciphertexts, each after the answers before.
fn inspected(ids: f64, rounds: u32) -> f64 {
    chosen_before(ids, rounds / 2, FORWARDS) + chosen_before(ids, rounds / 2, BACKWARDS)
}

/// Stam's bound for the low 27 of 64 bits of a random permutation.
fn truncated(ids: f64) -> f64 {
    let inputs = f64::from(ROUNDS / 2) * (2_f64.powi(26) + 2_f64.powi(27));
    let blocks = (f64::from(ROUNDS) * ids).min(inputs);
    let all = 2_f64.powi(64);
    ((2_f64.powi(27) - 1.0) * blocks * (blocks - 1.0) / ((all - 1.0) * (all - blocks + 1.0))).sqrt()
        / 2.0
}

/// A bound of 1 says nothing.
fn shown(bound: f64) -> String {
    if bound >= 1.0 {
        return "none".to_owned();
    }
    let exponent = bound.log10().floor() as i32;
    // Rounded up, as it is a bound.
    let digits = (bound / 10_f64.powi(exponent) * 10.0).ceil() / 10.0;
    format!("{digits:.1}·10^{exponent}")
}

/// The number of ids at which a bound reaches `limit`.
fn reaches(limit: f64, bound: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1.0_f64, 1e10_f64);
    // To five digits.
    for _ in 0..20 {
        let middle = (low * high).sqrt();
        if bound(middle) < limit {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Two digits of a number, rounded as it is said: down if something holds up to it, up if it holds
/// from it on.
fn digits(number: f64, round: fn(f64) -> f64) -> String {
    let exponent = number.log10().floor() as i32;
    let digits = round(number / 10_f64.powi(exponent) * 10.0) / 10.0;
    format!("{digits:.1}·10^{exponent}")
}

fn check(row: &str) {
    println!("{row}");
    assert!(SECURITY.contains(row), "docs/security.md has no {row}");
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic, millions of times over")]
fn table_of_ids_of_53_bits() {
    for (name, ids) in [
        ("10^4", 1e4),
        ("10^6", 1e6),
        ("10^7", 1e7),
        ("6.7·10^7 = 2^26", 67_108_864.0),
        ("10^9", 1e9),
    ] {
        check(&format!(
            "| {name} | {} | {} | {} | {} | {} | {:.0} million |",
            shown(seen(ids, ROUNDS)),
            shown(inspected(ids, ROUNDS)),
            shown(truncated(ids)),
            shown(seen(ids, FF1_ROUNDS)),
            shown(inspected(ids, FF1_ROUNDS)),
            2_f64.powi(53) / ids / 1e6,
        ));
    }
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic, millions of times over")]
fn limits_of_the_bound() {
    let seen = |ids| chosen_before(ids, ROUNDS, FORWARDS);
    let inspected = |ids| inspected(ids, ROUNDS);
    check(&format!(
        "{} ids that are seen, and {} with `inspect`",
        digits(reaches(1e-3, seen), f64::floor),
        digits(reaches(1e-3, inspected), f64::floor)
    ));
    check(&format!(
        "{} and {}, it says nothing",
        digits(reaches(1.0, seen), f64::ceil),
        digits(reaches(1.0, inspected), f64::ceil)
    ));
    let with_rounds = |rounds| {
        let ids = reaches(1e-3, |ids| chosen_before(ids, rounds, FORWARDS));
        format!("2^{:.1}", (ids.log2() * 10.0).floor() / 10.0)
    };
    check(&format!(
        "100 rounds to {} ids seen, 1,000 to {}, and no",
        with_rounds(100),
        with_rounds(1_000)
    ));
    // The entropy of 13 tables of each kind, in ids of 53 bits.
    let bits = 13.0 * (26.0 * 2_f64.powi(27) + 27.0 * 2_f64.powi(26));
    check(&format!("{:.1}·10^9 ids determine", bits / 53.0 / 1e9));
    let ff1 = bits * f64::from(FF1_ROUNDS) / f64::from(ROUNDS);
    check(&format!("with 10 rounds at {:.1}·10^8", ff1 / 53.0 / 1e8));
}

/// 64-bit blocks of which the upper 52 bits are one tag.
const BLOCKS_OF_A_TAG: u128 = 1 << 12;

/// Bound of the probability that one of `tries` forged UUIDs passes, after `seen` ids with right
/// tags: as a fraction.
const fn bound(tries: u128, seen: u128) -> (u128, u128) {
    (tries * BLOCKS_OF_A_TAG, (1 << 64) - seen)
}

/// `digits` significant digits, rounded up, as it is a bound.
fn shown_fraction((above, below): (u128, u128), digits: u32) -> String {
    let mut exponent = 0;
    let mut above = above;
    // By whole numbers: a 64-bit float would not show that 2^32 ids make a difference.
    while above < below {
        above *= 10;
        exponent += 1;
    }
    let scale = 10_u128.pow(digits - 1);
    let number = (above * scale).div_ceil(below);
    let width = digits as usize - 1;
    format!(
        "{}.{:0width$}·10^-{exponent}",
        number / scale,
        number % scale
    )
}

#[test]
fn table_of_tagged_uuids() {
    for (name, seen) in [("none", 0), ("10^9", 1_000_000_000), ("2^32", 1 << 32)] {
        check(&format!(
            "| {name} | {} | {} | {} |",
            shown_fraction(bound(1, seen), 13),
            shown_fraction(bound(1_000_000_000, seen), 3),
            shown_fraction(bound(1 << 32, seen), 3),
        ));
    }
}

#[test]
fn one_try_is_far_below_the_promise() {
    let (above, below) = bound(1, 1 << 32);
    assert!(above << 40 <= below, "over 2^-40");
    // 2^32 tries after 2^32 ids, but for the ids that are seen: 2^-20.
    let (above, below) = bound(1 << 32, 1 << 32);
    assert!(above << 20 > below && above << 19 < below);
}
