//! Windows of clocks.

use core::time::Duration;

use randflake_lease::unstable::rules::ClockWindow;

use crate::inputs::number;

const COLUMNS: [&str; 16] = [
    "clock_before",
    "clock_after",
    "clock_estimate",
    "clock_near_least",
    "clock_near_most",
    "clock_age",
    "clock_machine.least",
    "clock_machine.most",
    "clock_store.least",
    "clock_store.most",
    "clock_blind.is_allowed",
    "clock_blind.least",
    "clock_blind.most",
    "clock_carried.is_allowed",
    "clock_carried.least",
    "clock_carried.most",
];

pub(crate) fn names() -> impl Iterator<Item = String> {
    COLUMNS.iter().map(ToString::to_string)
}

/// In milliseconds, close to those that the rules add and subtract.
pub(crate) fn row(random: &mut fastrand::Rng) -> Vec<i64> {
    let near = |random: &mut fastrand::Rng| {
        let around = [0, 1_000, 2_000, 10_000, 11_000, 20_000][random.usize(..6)];
        i64::max(around + random.i64(-2..3), 0)
    };
    let inputs = [
        near(random),
        near(random),
        near(random),
        near(random),
        near(random),
        // Of whole milliseconds of drift, up to more than the skew.
        2_000 * [0, 1, 9_999, 10_000, 10_001, random.i64(0..11_000)][random.usize(..6)],
    ];
    let [before, after, estimate, least, most, age] =
        inputs.map(|ms| Duration::from_millis(number(ms)));
    let of = |window: ClockWindow| {
        [window.least, window.most].map(|time| i64::try_from(time.as_millis()).unwrap())
    };
    let blind = ClockWindow::of_blind_renewal(estimate, &ClockWindow { least, most });
    let mut row = inputs.to_vec();
    row.extend(of(ClockWindow::of_machine(before, after)));
    row.extend(of(ClockWindow::of_store(before, after)));
    row.push(blind.is_some().into());
    row.extend(blind.map_or([0; 2], of));
    let carried = ClockWindow::of_machine_carried(before, after, age);
    row.push(carried.is_some().into());
    row.extend(carried.map_or([0; 2], of));
    row
}
