//! What was to be reached, beside what is.

use core::fmt::Write as _;

use super::row::{Quantity, Row};
use super::{check, wasm};

struct Goal {
    what: &'static str,
    target: &'static str,
    level: &'static str,
    image: &'static str,
    quantity: Quantity,
    most: u64,
}

const fn goal(
    what: &'static str,
    target: &'static str,
    level: &'static str,
    image: &'static str,
    quantity: Quantity,
    most: u64,
) -> Goal {
    Goal {
        what,
        target,
        level,
        image,
        quantity,
        most,
    }
}

const M0: &str = "thumbv6m-none-eabi";
const M3: &str = "thumbv7m-none-eabi";
const M4: &str = "thumbv7em-none-eabi";

#[rustfmt::skip]
const GOALS: &[Goal] = &[
    goal("`generate`, keys on the fly, on M0 at `Os`: bytes of flash", M0, "Os", "generate_on_the_fly_masked", Quantity::Flash, 352),
    goal("the same, if why there is no id is dropped by `.ok()`", M0, "Os", "generate_ok_masked", Quantity::Flash, 352),
    goal("its state with the key: bytes of RAM", M0, "Os", "generate_on_the_fly_masked", Quantity::Ram, 32),
    goal("its state with the key in flash: bytes of RAM", M0, "Os", "generate_key_in_flash_masked", Quantity::Ram, 16),
    goal("instructions that a critical section masks on M0", M0, "Os", "generate_on_the_fly_masked", Quantity::Masked, 6),
    goal("a block, keys on the fly, on M0 at `Os`: bytes of flash", M0, "Os", "cipher_on_the_fly", Quantity::Flash, 256),
    goal("a block, key table, on M4F at `O3`: instructions", M4, "O3", "cipher_table", Quantity::Instructions, 420),
    goal("a block, key table, on M0 at `O3`: instructions", M0, "O3", "cipher_table", Quantity::Instructions, 650),
    goal("a block, keys on the fly, on M3 at `O3`: instructions", M3, "O3", "cipher_on_the_fly", Quantity::Instructions, 800),
    goal("a block, keys on the fly, on M0 at `O3`: instructions", M0, "O3", "cipher_on_the_fly", Quantity::Instructions, 1100),
    goal("the same at `Os`", M0, "Os", "cipher_on_the_fly", Quantity::Instructions, 1200),
    goal("`FlashHorizon` on M0 at `Os`: bytes of flash", M0, "Os", "horizon", Quantity::Flash, 480),
    goal("a WebAssembly module with an imported clock, at `Os`: bytes", wasm::TARGET, "Os", wasm::IMAGE, Quantity::Flash, wasm::MOST_BYTES),
    goal("a ticket decoded on M0 at `Os`: bytes of flash", M0, "Os", "ticket", Quantity::Flash, 3500),
];

/// A table of Markdown.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from("| | goal | is | |\n|---|--:|--:|---|\n");
    for goal in GOALS {
        let row = rows.iter().find(|row| {
            (row.target, row.level, row.image) == (goal.target, goal.level, goal.image)
        });
        if let Some(row) = row {
            add(
                &mut table,
                goal.what,
                goal.most,
                row.quantity(goal.quantity),
            );
        }
    }
    let images_with = |bad: fn(&str) -> bool| {
        let with = rows
            .iter()
            .filter(|row| row.functions.iter().any(|function| bad(&function.name)));
        with.count() as u64
    };
    let all = rows.iter().filter(|row| row.image != wasm::IMAGE).count();
    let what = format!("of all {all} images: those with a panic");
    add(&mut table, &what, 0, images_with(check::panics));
    let what = "those with a function of the compiler's own library";
    add(&mut table, what, 0, images_with(check::is_foreign));
    table
}

fn add(table: &mut String, what: &str, most: u64, is: u64) {
    let verdict = if is <= most { "met" } else { "**missed**" };
    _ = writeln!(table, "| {what} | {most} | {is} | {verdict} |");
}
