//! A layout in SQL: expressions that take ids apart, and the numbers to check fields by.
//!
//! Operators of the expressions, which are PostgreSQL's, are places: see `postgres::OPERATORS`.

use core::fmt::Write as _;

use randflake_std::randflake_core::{Field, LayoutSpec};

use crate::failure::Failure;
use randflake_common::date::utc_in_ticks;

const US_PER_MS: u64 = 1_000;
const MS_PER_S: u64 = 1_000;

/// What the places of a template stand for. The time is the highest field, as in each layout that the command line has.
pub(super) fn values(spec: LayoutSpec) -> Result<Vec<(&'static str, String)>, Failure> {
    let fields = spec.fields();
    let ticks = spec.max_tick() + 1;
    // Checked here, so that no arithmetic on times overflows there.
    let end_us = unix_us(spec, ticks).ok_or_else(|| {
        Failure::usage("the layout has times after the year 294246, which a bigint of microseconds does not hold")
    })?;
    let date = |tick| utc_in_ticks(spec.unix_ms(tick), spec.tick_ms());
    let sign_tick = sign_tick(spec);
    let below_time = (1_u64 << fields.timestamp.shift) - 1;
    Ok(vec![
        ("layout", described(spec)),
        ("time", time(spec)),
        ("node", extracted(fields.node_id)),
        ("sequence", extracted(fields.sequence)),
        ("packed", packed(spec)),
        ("epoch_ms", spec.epoch_unix_ms().to_string()),
        ("tick_ms", spec.tick_ms().to_string()),
        ("first_us", (spec.epoch_unix_ms() * US_PER_MS).to_string()),
        ("end_us", end_us.to_string()),
        ("tick_us", (spec.tick_ms() * US_PER_MS).to_string()),
        ("first_time", date(0)),
        ("last_time", date(spec.max_tick())),
        ("end_time", date(ticks)),
        ("sign_time", sign_tick.map_or("no time".to_owned(), date)),
        ("sign_tick", sign_tick.unwrap_or(ticks).to_string()),
        ("max_tick", spec.max_tick().to_string()),
        ("max_node", spec.max_node_id().to_string()),
        ("max_sequence", spec.max_sequence().to_string()),
        ("time_shift", fields.timestamp.shift.to_string()),
        ("node_shift", fields.node_id.shift.to_string()),
        ("sequence_shift", fields.sequence.shift.to_string()),
        ("below_time", below_time.to_string()),
    ])
}

/// Microseconds since 1970 at which a tick begins, if they fit a `bigint`.
fn unix_us(spec: LayoutSpec, tick: u64) -> Option<i64> {
    let us = spec.unix_ms(tick).checked_mul(US_PER_MS)?;
    i64::try_from(us).ok()
}

/// The first tick whose raw ids are negative in a `bigint`; `None` if none are.
pub(super) fn sign_tick(spec: LayoutSpec) -> Option<u64> {
    let Field { bits, shift } = spec.fields().timestamp;
    (bits + shift == u64::BITS).then(|| 1 << (bits - 1))
}

/// The field's value in the number `raw`.
fn extracted(field: Field) -> String {
    match field.bits {
        // It may lie behind the highest bit, by which no shift is allowed.
        0 => "0::bigint".to_owned(),
        _ => format!("raw {{>>}} {} {{&}} {}", field.shift, field.max()),
    }
}

/// The time of the number `raw`.
fn time(spec: LayoutSpec) -> String {
    let (epoch, tick) = (spec.epoch_unix_ms(), spec.tick_ms());
    let ticks = extracted(spec.fields().timestamp);
    if epoch.is_multiple_of(MS_PER_S) && tick.is_multiple_of(MS_PER_S) {
        let (epoch, tick) = (epoch / MS_PER_S, tick / MS_PER_S);
        return format!("pg_catalog.to_timestamp({epoch} {{+}} ({tick} {{*}} ({ticks})))");
    }
    // In two parts: seconds with decimals would be rounded to what a float holds.
    let ms = format!("({epoch} {{+}} ({tick} {{*}} ({ticks})))");
    format!(
        "pg_catalog.to_timestamp({ms} {{/}} {MS_PER_S}) {{+}} (({ms} {{%}} {MS_PER_S}) {{*}} interval '1 millisecond')"
    )
}

/// The raw id of the numbers `tick`, `node` and `sequence`, which are in range.
fn packed(spec: LayoutSpec) -> String {
    let names = ["tick", "node", "sequence"].into_iter();
    let fields = names.zip(spec.fields().bit_fields());
    let placed = fields
        .filter(|(_, field)| field.bits > 0)
        .map(|(name, field)| format!("({name} {{<<}} {})", field.shift));
    placed.collect::<Vec<_>>().join(" {|} ")
}

fn described(spec: LayoutSpec) -> String {
    let fields = spec.fields();
    let names = ["time", "node", "sequence"].into_iter();
    let mut text = String::new();
    for (name, field) in names.zip(fields.bit_fields()) {
        // Writing to a string never fails.
        _ = write!(
            text,
            "{name} {} bits from bit {}, ",
            field.bits, field.shift
        );
    }
    _ = write!(
        text,
        "ticks of {} ms since {}",
        fields.tick_ms,
        utc_in_ticks(fields.epoch_unix_ms, 1)
    );
    text
}
