//! `randflake-embedded/SIZE.md`, made of the rows.

use core::fmt::Write as _;

use super::images::{IMAGES, LEVELS};
use super::row::{Quantity, Row};
use super::{check, goals};

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

Made by `cargo xtask size`, which builds, links and runs the images in `firmware/size`; not written by hand.

- **Flash and RAM** are by how many bytes an image with one call is larger than the same image without: code,
  constants, what the call brings of the compiler's library, and its state, as the linker laid them out.
- **Instructions** are those QEMU executes from a call's first to its return, one at a time. The usual call comes
  first; where another takes longer, the longest seen stands behind it. They are not cycles: on a Cortex-M3 an
  instruction takes one, but a load 2, a taken branch 2 to 4.
- **Stack** is how far the stack pointer went below where it was at the call.
- All levels with fat link-time optimisation, one codegen unit, `panic = \"abort\"` and overflow checks. Targets are
  `thumbv6m`, `thumbv7m`, `thumbv7em`, `riscv32imc`, `riscv32imac`. \"Masked\" words are `CriticalSectionWord`s with the
  critical section of `cortex-m` or `riscv`; the clock is one load from RAM but for `UnixClock`; a flash's driver is not
  counted.
";

pub(super) fn page(rustc: &str, rows: &[Row]) -> String {
    let mut page = format!("{HEAD}\n{rustc}.\n\n## Goals\n\n{}", goals::table(rows));
    _ = write!(
        page,
        "\n## Beside hand-written assembly\n\n{}",
        felics(rows)
    );
    for (title, quantity) in [
        ("Flash, bytes", Quantity::Flash),
        ("Instructions", Quantity::Instructions),
        ("Stack, bytes", Quantity::Stack),
        ("RAM, bytes", Quantity::Ram),
        (
            "Instructions on end with interrupts masked",
            Quantity::Masked,
        ),
    ] {
        let table = table(rows, |row| cell(row, quantity));
        _ = write!(page, "\n## {title}\n\n{table}");
    }
    let table = table(rows, library_functions);
    _ = write!(
        page,
        "\n## Functions of the compiler's own library\n\n{table}"
    );
    page
}

/// The designers' figures are of the README of `sparx64`.
fn felics(rows: &[Row]) -> String {
    let mut text = String::from(
        "One block of SPARX-64/128 on a Cortex-M3. The designers' two programs are as the benchmark FELICS counts: \
         bytes of\ncode and *cycles* of the encryption, key schedule apart. Ours are bytes and *instructions*.\n\n\
         | | bytes | cycles | instructions |\n|---|--:|--:|--:|\n\
         | assembly, small | 174 | 1376 | |\n| assembly, fast | 642 | 929 | |\n",
    );
    for (image, level) in [
        ("cipher_table", "Os"),
        ("cipher_table", "O3"),
        ("cipher_on_the_fly", "Os"),
        ("cipher_on_the_fly", "O3"),
    ] {
        if let Some(row) = find(rows, "thumbv7m-none-eabi", level, image) {
            _ = writeln!(
                text,
                "| {}, `{level}` | {} | | {} |",
                what(image),
                row.flash,
                row.quantity(Quantity::Instructions)
            );
        }
    }
    text
}

fn find<'a>(rows: &'a [Row], target: &str, level: &str, image: &str) -> Option<&'a Row> {
    rows.iter()
        .find(|row| (row.target, row.level, row.image) == (target, level, image))
}

fn what(image: &str) -> &'static str {
    let known = IMAGES.iter().find(|known| known.name == image);
    known.map_or("", |image| image.what)
}

/// A line for each call and level that has the quantity at all.
fn table(rows: &[Row], cell: impl Fn(&Row) -> String) -> String {
    let mut table = String::from("| call | level |");
    for (_, column) in COLUMNS {
        _ = write!(table, " {column} |");
    }
    table.push_str("\n|---|---|--:|--:|--:|--:|--:|\n");
    for image in IMAGES {
        for level in &LEVELS {
            let cells =
                COLUMNS.map(|(target, _)| find(rows, target, level.name, image.name).map(&cell));
            let cells = cells.map(Option::unwrap_or_default);
            if cells.iter().any(|cell| !["", "0"].contains(&cell.as_str())) {
                let cells = cells.join(" | ");
                _ = writeln!(table, "| {} | `{}` | {cells} |", image.what, level.name);
            }
        }
    }
    table
}

fn cell(row: &Row, quantity: Quantity) -> String {
    let value = row.quantity(quantity);
    let most = row.quantity(Quantity::MostInstructions);
    if quantity == Quantity::Instructions && most > value {
        format!("{value} ({most})")
    } else {
        value.to_string()
    }
}

/// Those that others call, by their short names.
fn library_functions(row: &Row) -> String {
    let names = row.functions.iter().map(|function| function.name.as_str());
    let names: Vec<String> = names
        .filter(|name| check::is_foreign(name) && !name.starts_with("compiler_builtins::"))
        .map(|name| format!("`{name}`"))
        .collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::COLUMNS;
    use crate::qemu::TARGETS;

    #[test]
    fn every_target_has_a_column() {
        for target in TARGETS {
            assert!(COLUMNS.iter().any(|(name, _)| *name == target.name));
        }
    }
}
