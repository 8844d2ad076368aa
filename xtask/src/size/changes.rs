//! What a report shows beside an earlier one.

use std::fs;
use std::path::Path;

use super::row::{Quantity, Row};

/// The lines of an earlier `--json`, one for each row.
#[derive(Default)]
pub(super) struct Before(Vec<String>);

impl Before {
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let before = Self::of(&text);
        if before.0.is_empty() {
            return Err(format!("{}: has no rows", file.display()));
        }
        Ok(before)
    }

    fn of(text: &str) -> Self {
        let rows = text.lines().filter(|line| line.starts_with("{\"target\":"));
        Self(rows.map(str::to_owned).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Both values, if there was another one.
    pub(super) fn change(&self, row: &Row, quantity: Quantity) -> Option<String> {
        let now = row.quantity(quantity);
        let before = self.value(row, quantity)?;
        (before != now).then(|| format!("{before} → {now}"))
    }

    fn value(&self, row: &Row, quantity: Quantity) -> Option<u64> {
        // What a row's line begins with, whatever was measured.
        let head = row.head();
        let line = self.0.iter().find(|line| line.starts_with(&head))?;
        let (_, rest) = line.split_once(&format!("\"{}\": ", quantity.name()))?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_in_an_earlier_report() {
        let row = |flash| Row {
            target: "thumbv6m-none-eabi",
            level: "Os",
            image: "text",
            flash,
            ram: 1,
            calls: Vec::new(),
            functions: Vec::new(),
        };
        let before = Before::of(&super::super::row::json("rustc", &[row(348)]));
        let change = |flash, quantity| before.change(&row(flash), quantity);
        assert_eq!(change(340, Quantity::Flash).as_deref(), Some("348 → 340"));
        assert_eq!(change(348, Quantity::Flash), None);
        assert_eq!(change(340, Quantity::Ram), None);
        let other = Row {
            level: "O3",
            ..row(340)
        };
        assert_eq!(before.change(&other, Quantity::Flash), None);
    }
}
