//! The command `randflake inspect`, and the fields of an id as it prints them.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use clap::ArgGroup;
use randflake_common::date::{self, utc_in_ticks};
use randflake_common::form::{GivenId, TextFormat};
use randflake_common::layout::IdEncryption;
use randflake_std::randflake_core::{Cipher, Codec, Field, LayoutSpec, Permutation};
use randflake_std::{AnyLayout, Parts};

use crate::command::input::IdArgs;
use crate::command::table::AddArgs;
use crate::failure::Failure;
use crate::layout::LayoutArgs;
use crate::output::{BufferedStdout, stdout};
use crate::secret::SecretArgs;

/// How the fields of an id are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object on a line. Numbers over 53 bits are strings, because not every JSON reader keeps
    /// them.
    Json,
    /// A line for each field.
    Block,
    /// All in one line.
    Line,
}

/// Writes the fields of ids, decrypted by a codec.
pub(crate) struct FieldsWriter<'a> {
    codec: &'a Codec<LayoutSpec, Option<Cipher>>,
    form: IdEncryption,
    shape: Shape,
    bits: Option<Bits>,
    raws: Vec<u64>,
    text: String,
    /// The fields of the last id that do not depend on its sequence.
    ///
    /// New ids come by the thousand in a tick of a node id, and dates are most of the work.
    tick_fields: TickFields,
}

impl<'a> FieldsWriter<'a> {
    pub(crate) fn new(codec: &'a Codec<LayoutSpec, Option<Cipher>>, shape: Shape) -> Self {
        Self {
            codec,
            form: IdEncryption::of_cipher(codec.permutation().as_ref()),
            shape,
            bits: None,
            raws: Vec::new(),
            text: String::new(),
            tick_fields: TickFields::default(),
        }
    }

    /// Shows the bits of each field, too.
    pub(crate) fn with_bits(mut self, is_coloured: bool) -> Self {
        self.bits = Some(Bits::new(&self.codec.layout().spec(), is_coloured));
        self
    }

    pub(crate) fn write(&mut self, out: &mut BufferedStdout, ids: &[GivenId]) -> io::Result<()> {
        let spec = self.codec.layout().spec();
        // The maker's clock may be ahead of this one by some seconds.
        let latest = date::now() + Duration::from_secs(60);
        self.raws.clear();
        self.raws.extend(ids.iter().map(|given| given.id.to_u64()));
        // All at once: the cipher takes several blocks in the time of one.
        self.codec.permutation().invert_all(&mut self.raws);
        self.text.clear();
        for (given, &raw) in ids.iter().zip(&self.raws) {
            let id = given.id;
            let parts = spec.unpack(raw);
            if !self.tick_fields.are_of(parts) {
                self.tick_fields = TickFields::new(self.shape, &spec, parts, latest);
            }
            let TickFields { shown, doubt, .. } = &self.tick_fields;
            let (text, int, sequence) = (id.to_text(), id.to_i64(), parts.sequence);
            let prefix = given.prefix.as_deref();
            // Not by `serde_json`: the shapes share the fields of a tick, and none has text to
            // escape. Writing to a string never fails.
            _ = match self.shape {
                Shape::Json => {
                    let bits = self
                        .bits
                        .as_ref()
                        .map(|bits| bits.member(raw))
                        .unwrap_or_default();
                    let number = self.form.number(id);
                    let number = number
                        .map(|number| format!("\"number\":{number},"))
                        .unwrap_or_default();
                    let prefix = prefix
                        .map(|prefix| format!("\"prefix\":\"{prefix}\","))
                        .unwrap_or_default();
                    writeln!(
                        self.text,
                        r#"{{{prefix}"text":"{text}","int":"{int}",{number}"raw":"{raw}",{shown},"sequence":{sequence}{bits}}}"#
                    )
                }
                Shape::Block => {
                    let bits = self
                        .bits
                        .as_ref()
                        .map(|bits| bits.rows(raw))
                        .unwrap_or_default();
                    let prefix = prefix
                        .map(|prefix| format!("prefix    {prefix}\n"))
                        .unwrap_or_default();
                    write!(
                        self.text,
                        "{prefix}text      {text}\nint       {int}\nraw       {raw}\n{shown}\nsequence  {sequence}\n{bits}"
                    )
                }
                Shape::Line => {
                    let start = self.text.len();
                    given.append(id, TextFormat::Text, &mut self.text);
                    let width = self.text.len() - start;
                    let padding = 13_usize.saturating_sub(width);
                    writeln!(
                        self.text,
                        "{:padding$}  {shown}  sequence {sequence}{doubt}",
                        ""
                    )
                }
            };
        }
        out.write_all(self.text.as_bytes())
    }
}

/// Time and node id, as all ids of one tick and node id show them.
#[derive(Default)]
struct TickFields {
    tick: u64,
    node_id: u32,
    /// Empty before the first id.
    shown: String,
    doubt: &'static str,
}

impl TickFields {
    fn are_of(&self, parts: Parts) -> bool {
        // Tick 0 of node id 0 is a valid id, so the default's numbers alone do not mean that
        // nothing was shown.
        (self.tick, self.node_id) == (parts.tick, parts.node_id) && !self.shown.is_empty()
    }

    fn new(shape: Shape, spec: &LayoutSpec, parts: Parts, latest: Duration) -> Self {
        let Parts { tick, node_id, .. } = parts;
        let unix_ms = spec.unix_ms(tick);
        // An id of another secret decrypts to a random time: nineteen in twenty are in the future.
        let doubt = if Duration::from_millis(unix_ms) > latest {
            "  in the future: made under another secret or layout?"
        } else {
            ""
        };
        let utc = utc_in_ticks(unix_ms, spec.tick_ms());
        let seconds = seconds_in_ticks(unix_ms, spec.tick_ms());
        let parts: Vec<_> = spec.node_parts(node_id).collect();
        let shown = match shape {
            Shape::Json => {
                // Names of parts are letters, digits, `-` and `_`: nothing to escape.
                let parts = listed(&parts, |name, value| format!("\"{name}\":{value}"), ",");
                let parts = parts.map(|parts| format!(",\"node_parts\":{{{parts}}}"));
                format!(
                    r#""time":{},"unix_ms":{unix_ms},"time_utc":"{utc}","node":{node_id}{}"#,
                    unix_ms / 1_000,
                    parts.unwrap_or_default()
                )
            }
            Shape::Block | Shape::Line => {
                let parts = listed(&parts, |name, value| format!("{name} {value}"), ", ");
                let parts = parts.map(|parts| format!(" ({parts})")).unwrap_or_default();
                if shape == Shape::Block {
                    format!("time      {seconds} ({utc}){doubt}\nnode      {node_id}{parts}")
                } else {
                    format!("time {seconds} ({utc})  node {node_id:<6}{parts}")
                }
            }
        };
        Self {
            tick,
            node_id,
            shown,
            doubt,
        }
    }
}

/// Lists the named parts of a node id. `None` if it has none.
fn listed(
    parts: &[(&str, u32)],
    one: impl Fn(&str, u32) -> String,
    separator: &str,
) -> Option<String> {
    let parts: Vec<_> = parts
        .iter()
        .map(|&(name, value)| one(name, value))
        .collect();
    (!parts.is_empty()).then(|| parts.join(separator))
}

/// Seconds since 1970, with milliseconds if the layout's ticks have a use for them.
fn seconds_in_ticks(unix_ms: u64, tick_ms: u64) -> String {
    let (seconds, ms) = (unix_ms / 1_000, unix_ms % 1_000);
    if tick_ms.is_multiple_of(1_000) {
        seconds.to_string()
    } else {
        format!("{seconds}.{ms:03}")
    }
}

/// Show what ids say: time, node id, sequence
///
/// One id on the command line is shown with a line for each field, several or those from standard
/// input with a line for each id. The first line that is no id ends it, a blank one too, except at
/// the end of the input.
///
/// --csv, --tsv and --jsonl print a table instead. With --column they read one, and print it with
/// columns added: nothing else in a row changes. An empty cell has empty cells beside it.
///
/// A debugging aid: every number has fields under every secret, so they prove nothing.
#[derive(Debug, clap::Args)]
#[command(
    // Its own: other commands have the option without tables.
    group = ArgGroup::new("objects").arg("json").conflicts_with("table"),
    after_help = "\
Examples:
  randflake inspect 3vgoe12ccb8gh
  randflake inspect --from int --json 4594531474933654033
  randflake inspect --layout discord --from int 175928847299117063
  psql -Atc 'SELECT id FROM orders' | randflake inspect --from int
  randflake inspect --csv --column order_id --from int < orders.csv > inspected.csv
  randflake inspect --csv --columns id,time,node --from int < ids.txt > inspected.csv"
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    ids: IdArgs,
    /// Show the bits of each field, too, as a terminal does with one id; in an object, or with one
    /// id
    #[arg(long, conflicts_with = "table")]
    bits: bool,
    #[command(flatten)]
    table: AddArgs,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl InspectArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let codec = self.layout.layout.codec(&self.secret)?;
        if let Some(format) = self.table.format() {
            return self.table.run(format, &self.ids, &codec);
        }
        let shape = match self.ids.ids.len() {
            _ if self.ids.json => Shape::Json,
            // Counted by arguments: how many ids standard input has is not known before it ends.
            1 => Shape::Block,
            _ => Shape::Line,
        };
        let mut out = stdout();
        let mut fields = FieldsWriter::new(&codec, shape);
        // A person at a terminal sees the bits unasked, a program only if it asks.
        if self.bits || !self.ids.json && out.is_terminal() {
            fields = fields.with_bits(out.is_coloured() && !self.ids.json);
        }
        let form = self.layout.layout.form();
        self.ids.for_each_block(form, |ids| {
            let (ids, foreign) = form.checked(ids);
            fields.write(&mut out, ids)?;
            foreign
        })?;
        Ok(out.flush()?)
    }
}

/// Number of bits of a raw id.
const DIGITS: u32 = 64;
const COLORS: [AnsiColor; 4] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
];

/// Shows the bits of raw ids: a row for each field, from the highest down, in its place among the
/// 64.
struct Bits {
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
        let fields: Vec<_> = self
            .fields
            .iter()
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
