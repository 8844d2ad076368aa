//! What is known of one image, and its line in the record.

use super::elf::Function;
use super::trace::Call;

pub(super) struct Row {
    pub(super) target: &'static str,
    pub(super) level: &'static str,
    pub(super) image: &'static str,
    /// Bytes more than an image that does nothing.
    pub(super) flash: u64,
    pub(super) ram: u64,
    /// Calls in the order of the trace.
    pub(super) calls: Vec<Call>,
    /// What it holds beyond an image that does nothing.
    pub(super) functions: Vec<Function>,
}

/// What a table or a goal shows of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Flash,
    Ram,
    /// Of the deepest call.
    Stack,
    /// Of the usual call, which is the last.
    Instructions,
    /// Instructions of the longest call.
    MostInstructions,
    /// Of the call with most.
    Masked,
}

impl Quantity {
    /// Name of the measure in the record.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Ram => "ram",
            Self::Stack => "stack",
            Self::Instructions => "instructions",
            Self::MostInstructions => "most_instructions",
            Self::Masked => "masked",
        }
    }
}

impl Row {
    pub(super) fn quantity(&self, quantity: Quantity) -> u64 {
        let most = |of: fn(&Call) -> u64| self.calls.iter().map(of).max().unwrap_or_default();
        match quantity {
            Quantity::Flash => self.flash,
            Quantity::Ram => self.ram,
            Quantity::Stack => most(|call| call.stack),
            Quantity::Instructions => self.calls.last().map_or(0, |call| call.instructions),
            Quantity::MostInstructions => most(|call| call.instructions),
            Quantity::Masked => most(|call| call.masked),
        }
    }

    /// As an object of JSON. No name holds a character that would have to be escaped.
    pub(super) fn json(&self) -> String {
        let functions: Vec<String> = self
            .functions
            .iter()
            .map(|function| format!("\"{}\": {}", function.name, function.bytes))
            .collect();
        let quantities = [
            Quantity::Flash,
            Quantity::Ram,
            Quantity::Stack,
            Quantity::Instructions,
            Quantity::MostInstructions,
            Quantity::Masked,
        ];
        let quantities = quantities
            .map(|quantity| format!("\"{}\": {}", quantity.name(), self.quantity(quantity)));
        format!(
            "{}, {}, \"functions\": {{{}}}}}",
            self.head(),
            quantities.join(", "),
            functions.join(", "),
        )
    }

    /// What its line begins with.
    pub(super) fn head(&self) -> String {
        format!(
            "{{\"target\": \"{}\", \"level\": \"{}\", \"image\": \"{}\"",
            self.target, self.level, self.image
        )
    }
}

/// All rows as a document of JSON, a line each.
pub(super) fn json(rustc: &str, rows: &[Row]) -> String {
    let rows: Vec<String> = rows.iter().map(Row::json).collect();
    format!(
        "{{\"rustc\": \"{rustc}\", \"rows\": [\n{}\n]}}\n",
        rows.join(",\n")
    )
}
