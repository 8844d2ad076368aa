//! What is known of one image.

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
}
