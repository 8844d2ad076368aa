//! `randflake-embedded/SIZE.md`, made of the rows.

use core::fmt::Write as _;

use super::{IMAGES, LEVELS, MOST_WASM_BYTES, Row, WASM, WASM_IMAGE, is_foreign, panics};
use crate::helpers::prelude::*;

/// Names for the heads of columns.
const COLUMNS: [(&str, &str); 5] = [
    ("thumbv6m-none-eabi", "M0"),
    ("thumbv7m-none-eabi", "M3"),
    ("thumbv7em-none-eabi", "M4F"),
    ("riscv32imc-unknown-none-elf", "RV32IMC"),
    ("riscv32imac-unknown-none-elf", "RV32IMAC"),
];

const HEAD: &str = "\
# What ids cost on a microcontroller

Made by `cargo xtask bench size`, which builds, links and runs the images in `firmware/size`; not written by hand.

- **Flash and RAM** are by how many bytes an image with one call is larger than the same image without: code,
  constants, what the call brings of the compiler's library, and its state, as the linker laid them out.
- **Instructions** are those QEMU executes from a call's first to its return, one at a time. The usual call comes
  first; where another takes longer, the longest seen stands behind it. They are not cycles: on a Cortex-M3 an
  instruction takes one, but a load 2, a taken branch 2 to 4. On a Cortex-M0 or M0+ with Arm's small multiplier, as
  NXP's LPC43xx and LPC5410x have it, each of the 96 multiplications of a block with the table and of the 128 on the fly
  takes 32: 2,976 and 3,968 cycles more; `--cfg sparx64_small_multiplier` leaves them out (README of `sparx64`).
- **Stack** is how far the stack pointer went below where it was at the call.
- Both levels with fat link-time optimisation, one codegen unit, `panic = \"abort\"` and overflow checks, for `thumbv6m`,
  `thumbv7m`, `thumbv7em`, `riscv32imc` and `riscv32imac`. A critical section is that of `cortex-m` or `riscv`, around
  a `CriticalSectionWord`; the clock is one load from RAM where no other is named; a flash's driver is not counted.
- `Oz` is not shown: it makes every call slower, and the cipher larger (`cargo xtask bench size --level Oz`).
";

/// Writes the page, and the table of the cipher's README.
pub(super) fn write(rows: &[Row]) -> Result<(), String> {
    const MARKS: [&str; 2] = [
        "<!-- cargo xtask bench size: begin -->\n",
        "<!-- cargo xtask bench size: end -->\n",
    ];
    let cipher = cipher(rows).ok_or("a row of the cipher's table is missing")?;
    put_into("sparx64/README.md", MARKS, &cipher)?;
    files::write(&root().join("randflake-embedded/SIZE.md"), page(rows))
}

type Quantity = fn(&Row) -> String;

const TABLES: [(&str, Quantity); 6] = [
    ("Flash, bytes", |row| row.flash.to_string()),
    ("Instructions", |row| {
        match (row.instructions(), row.most(|call| call.instructions)) {
            (usual, most) if most > usual => format!("{usual} ({most})"),
            (usual, _) => usual.to_string(),
        }
    }),
    ("Stack, bytes", |row| {
        row.most(|call| call.stack).to_string()
    }),
    ("RAM, bytes", |row| row.ram.to_string()),
    ("Instructions on end with interrupts masked", |row| {
        row.most(|call| call.masked).to_string()
    }),
    // Those that others call, by their short names.
    ("Functions of the compiler's own library", |row| {
        let names = row.functions.iter().map(|function| function.name.as_str());
        names
            .filter(|name: &&str| is_foreign(name) && !name.starts_with("compiler_builtins::"))
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(" ")
    }),
];

fn page(rows: &[Row]) -> String {
    let tables = TABLES
        .map(|(title, of)| format!("\n## {title}\n\n{}", table(rows, of)))
        .concat();
    format!(
        "{HEAD}\n{}.\n\n## Goals\n\n{}\n## Beside hand-written assembly\n\n{}{tables}",
        rustc("--version"),
        goals(rows),
        felics(rows)
    )
}

const M0: &str = "thumbv6m-none-eabi";
const M3: &str = "thumbv7m-none-eabi";
const M4: &str = "thumbv7em-none-eabi";

/// What was to be reached.
type Goal = (&'static str, [&'static str; 3], fn(&Row) -> u64, u64);

#[rustfmt::skip]
const GOALS: &[Goal] = &[
    ("`generate`, keys on the fly, on M0 at `Os`: bytes of flash", [M0, "Os", "generate_on_the_fly_masked"], |row| row.flash, 352),
    ("the same, if why there is no id is dropped by `.ok()`", [M0, "Os", "generate_ok_masked"], |row| row.flash, 352),
    ("its state with the key: bytes of RAM", [M0, "Os", "generate_on_the_fly_masked"], |row| row.ram, 32),
    ("its state with the key in flash: bytes of RAM", [M0, "Os", "generate_key_in_flash_masked"], |row| row.ram, 16),
    ("instructions that a critical section masks on M0", [M0, "Os", "generate_on_the_fly_masked"], |row| row.most(|call| call.masked), 6),
    ("a block, keys on the fly, on M0 at `Os`: bytes of flash", [M0, "Os", "cipher_on_the_fly"], |row| row.flash, 256),
    ("a block, key table, on M4F at `O3`: instructions", [M4, "O3", "cipher_table"], Row::instructions, 420),
    ("a block, key table, on M0 at `O3`: instructions", [M0, "O3", "cipher_table"], Row::instructions, 650),
    ("a block, keys on the fly, on M3 at `O3`: instructions", [M3, "O3", "cipher_on_the_fly"], Row::instructions, 800),
    ("a block, keys on the fly, on M0 at `O3`: instructions", [M0, "O3", "cipher_on_the_fly"], Row::instructions, 1100),
    ("the same at `Os`", [M0, "Os", "cipher_on_the_fly"], Row::instructions, 1200),
    ("`FlashHorizon` on M0 at `Os`: bytes of flash", [M0, "Os", "horizon"], |row| row.flash, 480),
    ("a WebAssembly module with an imported clock, at `Os`: bytes", [WASM, "Os", WASM_IMAGE], |row| row.flash, MOST_WASM_BYTES),
    ("a ticket decoded on M0 at `Os`: bytes of flash", [M0, "Os", "ticket"], |row| row.flash, 3500),
];

fn goals(rows: &[Row]) -> String {
    let mut table = String::from("| | goal | is | |\n|---|--:|--:|---|\n");
    let mut add = |what: &str, most: u64, is: u64| {
        let verdict = if is <= most { "met" } else { "**missed**" };
        _ = writeln!(table, "| {what} | {most} | {is} | {verdict} |");
    };
    for (what, [target, level, image], quantity, most) in GOALS {
        if let Some(row) = find(rows, target, level, image) {
            add(what, *most, quantity(row));
        }
    }
    let images_with = |bad: fn(&str) -> bool| {
        rows.iter()
            .filter(|row: &&Row| row.functions.iter().any(|function| bad(&function.name)))
            .count() as u64
    };
    let all = rows.iter().filter(|row| row.image != WASM_IMAGE).count();
    add(
        &format!("of all {all} images: those with a panic"),
        0,
        images_with(panics),
    );
    add(
        "those with a function of the compiler's own library",
        0,
        images_with(is_foreign),
    );
    table
}

/// The figures of one block.
fn cipher(rows: &[Row]) -> Option<String> {
    let mut table = String::from(
        "| | Cortex-M0 | | Cortex-M3 | | Cortex-M4F | |\n|---|--:|--:|--:|--:|--:|--:|\n\
         | | bytes | instructions | bytes | instructions | bytes | instructions |\n",
    );
    let images = [
        ("cipher_table", "Sparx64"),
        ("cipher_on_the_fly", "Sparx64OnTheFly"),
    ];
    for (image, cipher) in images {
        for (level, option) in [("O3", "3"), ("Os", "\"s\"")] {
            _ = write!(table, "| `{cipher}`, `opt-level = {option}` |");
            for (target, _) in &COLUMNS[..3] {
                let row = find(rows, target, level, image)?;
                _ = write!(table, " {} | {} |", row.flash, row.instructions());
            }
            table.push('\n');
        }
    }
    Some(table)
}

/// The designers' figures are of the README of `sparx64`.
fn felics(rows: &[Row]) -> String {
    let mut text = String::from(
        "One block of SPARX-64/128 on a Cortex-M3. The designers' two programs are as the benchmark FELICS counts: \
         bytes of\ncode and *cycles* of the encryption, key schedule apart. Ours are bytes and *instructions*.\n\n\
         | | bytes | cycles | instructions |\n|---|--:|--:|--:|\n\
         | assembly, small | 174 | 1376 | |\n| assembly, fast | 642 | 929 | |\n",
    );
    for (image, what) in &IMAGES[..2] {
        for level in ["Os", "O3"] {
            if let Some(row) = find(rows, M3, level, image) {
                let (bytes, instructions) = (row.flash, row.instructions());
                _ = writeln!(text, "| {what}, `{level}` | {bytes} | | {instructions} |");
            }
        }
    }
    text
}

fn find<'a>(rows: &'a [Row], target: &str, level: &str, image: &str) -> Option<&'a Row> {
    let mut rows = rows.iter();
    rows.find(|row| (row.target, row.level, row.image) == (target, level, image))
}

/// A line for each call and level that has the quantity at all; one for levels that are alike.
fn table(rows: &[Row], cell: Quantity) -> String {
    let columns = COLUMNS.map(|(_, column)| column).join(" | ");
    let mut table = format!("| call | level | {columns} |\n|---|---|--:|--:|--:|--:|--:|\n");
    for (image, what) in IMAGES {
        let mut lines: Vec<(String, String)> = Vec::new();
        for (level, _) in LEVELS {
            let cells = COLUMNS
                .map(|(target, _)| find(rows, target, level, image).map(cell))
                .map(Option::unwrap_or_default);
            if cells.iter().any(|cell| !["", "0"].contains(&cell.as_str())) {
                let cells = cells.join(" | ");
                match lines.last_mut() {
                    Some((levels, same)) if *same == cells => _ = write!(levels, ", `{level}`"),
                    _ => lines.push((format!("`{level}`"), cells)),
                }
            }
        }
        for (levels, cells) in lines {
            _ = writeln!(table, "| {what} | {levels} | {cells} |");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::firmware::TARGETS;

    #[test]
    fn every_target_has_a_column() {
        for target in TARGETS {
            assert!(COLUMNS.iter().any(|(name, _)| *name == target.name));
        }
    }
}
