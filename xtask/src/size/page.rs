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
  instruction takes one, but a load 2, a taken branch 2 to 4. On a Cortex-M0 or M0+ with Arm's small multiplier, as
  NXP's LPC43xx and LPC5410x have it, each of the 96 multiplications of a block with the table and of the 128 on the fly
  takes 32: 2,976 and 3,968 cycles more; `--cfg sparx64_small_multiplier` leaves them out (README of `sparx64`).
- **Stack** is how far the stack pointer went below where it was at the call.
- Both levels with fat link-time optimisation, one codegen unit, `panic = \"abort\"` and overflow checks, for `thumbv6m`,
  `thumbv7m`, `thumbv7em`, `riscv32imc` and `riscv32imac`. A critical section is that of `cortex-m` or `riscv`, around
  a `CriticalSectionWord`; the clock is one load from RAM where no other is named; a flash's driver is not counted.
- `Oz` is not shown: it makes every call slower, and the cipher larger (`cargo xtask size --level Oz`).
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

const BEGIN: &str = "<!-- cargo xtask size: begin -->\n";
const END: &str = "<!-- cargo xtask size: end -->\n";

/// The README of the cipher with the figures of one block.
pub(super) fn cipher_readme(readme: &str, rows: &[Row]) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_old, after) = rest.split_once(END)?;
    let mut table = String::from(
        "| | Cortex-M0 | | Cortex-M3 | | Cortex-M4F | |\n|---|--:|--:|--:|--:|--:|--:|\n\
         | | bytes | instructions | bytes | instructions | bytes | instructions |\n",
    );
    for (image, cipher) in [
        ("cipher_table", "Sparx64"),
        ("cipher_on_the_fly", "Sparx64OnTheFly"),
    ] {
        for (level, option) in [("O3", "3"), ("Os", "\"s\"")] {
            _ = write!(table, "| `{cipher}`, `opt-level = {option}` |");
            for (target, _) in &COLUMNS[..3] {
                let row = find(rows, target, level, image)?;
                let instructions = row.quantity(Quantity::Instructions);
                _ = write!(table, " {} | {instructions} |", row.flash);
            }
            table.push('\n');
        }
    }
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
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

/// A line for each call and level that has the quantity at all; one for levels that are alike.
fn table(rows: &[Row], cell: impl Fn(&Row) -> String) -> String {
    let mut table = String::from("| call | level |");
    for (_, column) in COLUMNS {
        _ = write!(table, " {column} |");
    }
    table.push_str("\n|---|---|--:|--:|--:|--:|--:|\n");
    for image in IMAGES {
        let mut lines: Vec<(String, String)> = Vec::new();
        for level in &LEVELS {
            let cells =
                COLUMNS.map(|(target, _)| find(rows, target, level.name, image.name).map(&cell));
            let cells = cells.map(Option::unwrap_or_default);
            if cells.iter().any(|cell| !["", "0"].contains(&cell.as_str())) {
                let cells = cells.join(" | ");
                let name = format!("`{}`", level.name);
                match lines.last_mut() {
                    Some((levels, same)) if *same == cells => _ = write!(levels, ", {name}"),
                    _ => lines.push((name, cells)),
                }
            }
        }
        for (levels, cells) in lines {
            _ = writeln!(table, "| {} | {levels} | {cells} |", image.what);
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
    use super::*;
    use crate::qemu::TARGETS;

    fn row(target: &'static str, level: &'static str, image: &'static str) -> Row {
        Row {
            target,
            level,
            image,
            flash: 10,
            ram: 0,
            calls: Vec::new(),
            functions: Vec::new(),
        }
    }

    #[test]
    fn a_readmes_table_is_replaced_if_all_of_it_is_known() {
        let readme = format!("before\n{BEGIN}old\n{END}after\n");
        let mut rows = Vec::new();
        assert_eq!(cipher_readme(&readme, &rows), None);
        for (target, _) in COLUMNS {
            for image in ["cipher_table", "cipher_on_the_fly"] {
                rows.extend(["Os", "O3"].map(|level| row(target, level, image)));
            }
        }
        let written = cipher_readme(&readme, &rows).unwrap();
        assert!(written.starts_with(&format!("before\n{BEGIN}| | Cortex-M0 | |")));
        assert!(written.ends_with(&format!("| 10 | 0 | 10 | 0 | 10 | 0 |\n{END}after\n")));
        assert_eq!(cipher_readme("no place", &rows), None);
    }

    #[test]
    fn every_target_has_a_column() {
        for target in TARGETS {
            assert!(COLUMNS.iter().any(|(name, _)| *name == target.name));
        }
    }
}
