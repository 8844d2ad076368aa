//! The bits of a raw id, by field.

use core::fmt::Write;

use anstyle::{AnsiColor, Style};
use randflake_std::randflake_core::{Field, LayoutSpec};

/// Number of bits of a raw id.
const DIGITS: u32 = 64;
const COLORS: [AnsiColor; 4] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
];

/// Shows the bits of raw ids: a row for each field, from the highest down, in its place among the 64.
pub(crate) struct Bits {
    fields: Vec<(&'static str, Field)>,
    is_coloured: bool,
}

impl Bits {
    pub(crate) fn new(spec: &LayoutSpec, is_coloured: bool) -> Self {
        let widths = spec.fields();
        let mut fields = vec![("time", widths.timestamp), ("sequence", widths.sequence)];
        let node = widths.node_id;
        if spec.node_fields().is_empty() {
            fields.push(("node", node));
        }
        // Parts of a node id are named from its highest bits down.
        let mut shift = node.shift + node.bits;
        for &(name, bits) in spec.node_fields() {
            shift -= bits;
            fields.push((name, Field { bits, shift }));
        }
        // Mastodon has no node id, and a custom layout may have no sequence either.
        fields.retain(|(_, field)| field.bits > 0);
        fields.sort_by_key(|(_, field)| core::cmp::Reverse(field.shift));
        Self {
            fields,
            is_coloured,
        }
    }

    /// The rows as they stand below the other fields of an id, the first one with the name `bits`.
    pub(crate) fn rows(&self, raw: u64) -> String {
        let mut rows = String::new();
        for (row, &(field_name, field)) in self.fields.iter().enumerate() {
            let name = if row == 0 { "bits" } else { "" };
            let style = match COLORS.get(row % COLORS.len()) {
                Some(&color) if self.is_coloured => color.on_default().bold(),
                _ => Style::new(),
            };
            let (before, behind) = (DIGITS - field.bits - field.shift, field.shift);
            // Writing to a string never fails.
            _ = writeln!(
                rows,
                "{name:10}{}{style}{}{style:#}{}  {style}{}{style:#}",
                dots(before),
                digits(raw, field),
                dots(behind),
                field_name
            );
        }
        rows
    }

    /// The bits as one more member of a JSON object, with the comma before it.
    pub(crate) fn member(&self, raw: u64) -> String {
        let fields = self.fields.iter();
        let fields: Vec<_> = fields
            .map(|&(name, field)| format!("\"{name}\":\"{}\"", digits(raw, field)))
            .collect();
        format!(r#","bits":{{{}}}"#, fields.join(","))
    }
}

fn digits(raw: u64, field: Field) -> String {
    // 128 bits, because a field may have all 64.
    let value = u128::from(raw) >> field.shift & ((1 << field.bits) - 1);
    format!("{value:0width$b}", width = field.bits as usize)
}

fn dots(count: u32) -> String {
    ".".repeat(count as usize)
}
