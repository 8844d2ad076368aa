//! Columns of what ids say.

use clap::ValueEnum;
use itoa::Buffer;
use randflake_std::Parts;
use randflake_std::randflake_core::LayoutSpec;

use randflake_common::date::utc_in_ticks;
use randflake_common::form::{GivenId, TextForm};

/// What a column has. The names are those of the fields of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Form(TextForm),
    Raw,
    Time,
    UnixMs,
    TimeUtc,
    Node,
    Sequence,
    /// A named part of the node id, by its place among them.
    Part(usize),
}

impl Column {
    /// Finds a column by its name. `id` is the id in the form that it was given in.
    pub(super) fn named(name: &str, form: TextForm, spec: &LayoutSpec) -> Result<Self, String> {
        let parts = spec.node_fields();
        Ok(match name {
            "id" => Self::Form(form),
            "raw" => Self::Raw,
            "time" => Self::Time,
            "unix_ms" => Self::UnixMs,
            "time_utc" => Self::TimeUtc,
            "node" => Self::Node,
            "sequence" => Self::Sequence,
            _ => {
                let part = parts.iter().position(|(part, _)| *part == name);
                let form = || TextForm::from_str(name, false).ok().map(Self::Form);
                return part.map(Self::Part).or_else(form).ok_or_else(|| {
                    let parts: Vec<_> = parts.iter().map(|(part, _)| *part).collect();
                    let parts = [&["sequence"], &parts[..]].concat().join(", ");
                    format!(
                        "there is no column {name:?}: id, time, unix_ms, time_utc, node, {parts}, raw and the forms of \
                         --from are allowed"
                    )
                });
            }
        })
    }

    /// Whether JSON has it in quotes. Ids are, as many readers round numbers over 53 bits, unless `numbers` are asked for.
    pub(super) fn is_text(self, numbers: bool) -> bool {
        match self {
            Self::Form(TextForm::Int | TextForm::Uint) | Self::Raw => !numbers,
            Self::Form(_) | Self::TimeUtc => true,
            Self::Time | Self::UnixMs | Self::Node | Self::Sequence | Self::Part(_) => false,
        }
    }

    pub(super) fn append(self, id: &Inspected<'_>, text: &mut String) {
        let number: u64 = match self {
            Self::Form(form) => return id.id.append(id.id.id, form, text),
            Self::TimeUtc => return text.push_str(&id.times.utc),
            Self::Raw => id.raw,
            Self::Time => id.times.unix_ms / 1_000,
            Self::UnixMs => id.times.unix_ms,
            Self::Node => id.parts.node_id.into(),
            Self::Sequence => id.parts.sequence.into(),
            Self::Part(place) => {
                let part = id.spec.node_parts(id.parts.node_id).nth(place);
                part.map_or(0, |(_, value)| value.into())
            }
        };
        text.push_str(Buffer::new().format(number));
    }
}

/// An id with what it says.
pub(super) struct Inspected<'a> {
    pub(super) id: &'a GivenId,
    pub(super) raw: u64,
    pub(super) parts: Parts,
    pub(super) spec: &'a LayoutSpec,
    pub(super) times: &'a Times,
}

/// The time of the last id: rows in the order of time share it.
#[derive(Default)]
pub(super) struct Times {
    tick: u64,
    unix_ms: u64,
    /// Empty before the first id.
    utc: String,
}

impl Times {
    pub(super) fn set(&mut self, spec: &LayoutSpec, tick: u64) {
        if tick != self.tick || self.utc.is_empty() {
            let unix_ms = spec.unix_ms(tick);
            *self = Self {
                tick,
                unix_ms,
                utc: utc_in_ticks(unix_ms, spec.tick_ms()),
            };
        }
    }
}
