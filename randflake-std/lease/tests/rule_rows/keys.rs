//! Keys as a column: the form of ids, 10 times the check value, and 100 times the number. 0 is
//! none.

use randflake_core::KeyNumber;
use randflake_lease::unstable::rules::KeyCheck;

use crate::inputs::small;

const PLAIN: i64 = 1;
const KEY: i64 = 2;
const KEY53: i64 = 3;
const TAGGED: i64 = 4;

/// The first numbers and the last ones.
const NUMBERS: [i64; 5] = [1, 2, 3, 62, 63];

/// Any key or none. Half of them are keys of tagged UUIDs.
pub(crate) fn any(random: &mut fastrand::Rng) -> i64 {
    match random.u8(..8) {
        0 => 0,
        1 => PLAIN,
        2 => secret(random) + KEY,
        3 => secret(random) + KEY53,
        _ => tagged(NUMBERS[random.usize(..5)], random),
    }
}

/// A key that is often the next one, or close to it.
pub(crate) fn next(random: &mut fastrand::Rng, stored: i64) -> i64 {
    if random.u8(..4) == 0 {
        return any(random).max(PLAIN);
    }
    let number = stored / 100 + [-1, 0, 1, 1, 2][random.usize(..5)];
    tagged(number.clamp(1, 63), random)
}

fn tagged(number: i64, random: &mut fastrand::Rng) -> i64 {
    100 * number + secret(random) + TAGGED
}

/// One of two secrets.
fn secret(random: &mut fastrand::Rng) -> i64 {
    10 * random.i64(7..9)
}

pub(crate) fn key(column: i64) -> Option<KeyCheck> {
    let check = u32::from(small(column / 10 % 10));
    match column % 10 {
        0 => None,
        PLAIN => Some(KeyCheck::Plain),
        KEY => Some(KeyCheck::Key(check)),
        KEY53 => Some(KeyCheck::Key53(check)),
        TAGGED => Some(KeyCheck::Tagged {
            number: KeyNumber::new(small(column / 100)).unwrap(),
            check,
        }),
        other => panic!("{other}"),
    }
}

pub(crate) fn column(key: Option<KeyCheck>) -> i64 {
    let Some(key) = key else { return 0 };
    let form = match key {
        KeyCheck::Plain => PLAIN,
        KeyCheck::Key(_) => KEY,
        KeyCheck::Key53(_) => KEY53,
        KeyCheck::Tagged { .. } => TAGGED,
    };
    let number = key.number().map_or(0, |number| i64::from(number.get()));
    100 * number + 10 * key.value().map_or(0, i64::from) + form
}
