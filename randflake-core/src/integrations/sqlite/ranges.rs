//! Raw ids of a time range, as the 64-bit integers of a column.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::functions::Answer;
use super::time::{shown, tick_from};
use crate::LayoutSpec;

/// The first raw id that is negative in a column.
const SIGN: u64 = 1 << 63;

/// First and last raw id of a time range, each inclusive, in one range or, about the time when raw ids turn negative, two.
pub(super) fn ranges(spec: &LayoutSpec, from: &str, to: &str) -> Answer<Vec<(i64, i64)>> {
    let (first, last) = bounds(spec, from, to)?;
    let ranges = if first < SIGN && last >= SIGN {
        vec![(first, SIGN.wrapping_sub(1)), (SIGN, last)]
    } else {
        vec![(first, last)]
    };
    let signed = |(first, last): (u64, u64)| (first.cast_signed(), last.cast_signed());
    Ok(ranges.into_iter().map(signed).collect())
}

/// The only range; two are refused.
pub(super) fn single_range(spec: &LayoutSpec, from: &str, to: &str) -> Answer<(i64, i64)> {
    match ranges(spec, from, to)?[..] {
        [range] => Ok(range),
        _ => Err(format!(
            "raw ids are negative from {} on, which is between '{from}' and '{to}': ask for both parts apart, or for \
             raw_ranges",
            shown(spec, spec.unpack(SIGN).tick)?
        )),
    }
}

fn bounds(spec: &LayoutSpec, from: &str, to: &str) -> Answer<(u64, u64)> {
    let fields = spec.fields();
    let [timestamp, node_id, sequence] = fields.bit_fields();
    if timestamp.shift < node_id.shift.max(sequence.shift) {
        return Err(String::from(
            "the time is not the highest field of this layout, so raw ids are not in its order",
        ));
    }
    let (first, end) = (tick_from(spec, from)?, tick_from(spec, to)?);
    // An empty range would be all ids where raw ids turn negative.
    if first >= end {
        return Err(format!(
            "no tick begins between '{from}' and '{to}': the end must be after the beginning, by a tick of {} ms or more",
            spec.tick_ms()
        ));
    }
    let last_tick = end.wrapping_sub(1);
    let last = spec.pack(last_tick, spec.max_node_id(), spec.max_sequence().into());
    Ok((spec.pack(first, 0, 0), last))
}
