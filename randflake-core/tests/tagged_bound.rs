//! The figures of docs/security.md about tagged UUIDs, computed as it says. With `--nocapture` it shows them.

#![expect(clippy::print_stdout, reason = "the figures are also for readers")]

const SECURITY: &str = include_str!("../../docs/security.md");

/// 64-bit blocks of which the upper 52 bits are one tag.
const BLOCKS_OF_A_TAG: u128 = 1 << 12;

/// Bound of the probability that one of `tries` forged UUIDs passes, after `seen` ids with right tags: as a fraction.
const fn bound(tries: u128, seen: u128) -> (u128, u128) {
    (tries * BLOCKS_OF_A_TAG, (1 << 64) - seen)
}

/// `digits` significant digits, rounded up, as it is a bound.
fn shown((above, below): (u128, u128), digits: u32) -> String {
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

fn check(row: &str) {
    println!("{row}");
    assert!(SECURITY.contains(row), "docs/security.md has no {row}");
}

#[test]
fn the_table_has_what_the_bound_gives() {
    for (name, seen) in [("none", 0), ("10^9", 1_000_000_000), ("2^32", 1 << 32)] {
        check(&format!(
            "| {name} | {} | {} | {} |",
            shown(bound(1, seen), 13),
            shown(bound(1_000_000_000, seen), 3),
            shown(bound(1 << 32, seen), 3),
        ));
    }
}

#[test]
fn a_try_is_far_below_what_is_promised() {
    let (above, below) = bound(1, 1 << 32);
    assert!(above << 40 <= below, "over 2^-40");
    // 2^32 tries after 2^32 ids, but for the ids that are seen: 2^-20.
    let (above, below) = bound(1 << 32, 1 << 32);
    assert!(above << 20 > below && above << 19 < below);
}
