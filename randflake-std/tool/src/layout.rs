//! The option `--layout`: its help, its syntax, and the lease terms that follow from it.

use core::str::FromStr;
use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::randflake_core::LAYOUTS;
use randflake_std::randflake_core::{LayoutError, LayoutFields, LayoutSpec};
use randflake_std::{Layout, Randflake};

use crate::failure::Failure;
use randflake_common::date;
use randflake_common::layout::{IdEncryption, preset};
use randflake_common::number::{check, wrong};

#[derive(Debug, clap::Args)]
pub(crate) struct LayoutArgs {
    #[arg(long, value_name = "LAYOUT", default_value = "randflake", help = help(),
        long_help = format!("{}\n\n{DETAILS}", help()))]
    pub(crate) layout: LayoutChoice,
}

/// First paragraph of the help, with the names of all layouts.
fn help() -> String {
    let names = LAYOUTS.map(|(name, _)| name).join(", ");
    format!("Which bits mean what: {names} or custom:TIME,NODE,SEQUENCE@EPOCH/TICK_MS")
}

/// Second paragraph of the help.
const DETAILS: &str = "\
Ids of randflake and milliflake are encrypted, and those of randflake53 to numbers of 53 bits, which \
JavaScript and JSON hold exactly. The others are plain unless encrypted: stands before them, or \
encrypted53: before a layout of at most 53 bits. A name may be followed by another epoch and tick, as in \
sonyflake@2025-01-01/10; the epoch is a date in UTC or Unix milliseconds. A custom layout has the widths of \
its fields in bits, from the highest down; the node id may have parts with names, as in \
custom:38,region:6+type:14+machine:2,3@2020-01-01/10";

/// A layout as an option or a line of `--namespaces` asks for it.
#[derive(Clone, Debug)]
pub(crate) struct LayoutChoice {
    spec: LayoutSpec,
    form: IdEncryption,
    /// The text as it was written, without epoch and tick: advice on another epoch repeats it.
    shape: String,
}

const ENCRYPTED: &str = "encrypted:";
const ENCRYPTED_53: &str = "encrypted53:";
const CUSTOM: &str = "custom:";
const CUSTOM_SHAPE: &str = "a custom layout is written custom:TIME,NODE,SEQUENCE@EPOCH/TICK_MS, such as \
                            custom:41,10,12@2020-01-01/1";
const CUSTOM_BITS: &str = "1 to 63 bits of time, 0 to 32 of node id, 0 to 32 of sequence and at most 64 \
                           together are allowed";

impl Default for LayoutChoice {
    fn default() -> Self {
        Self {
            spec: Randflake::SPEC,
            // As `randflake` is read below: it has no plain form.
            form: IdEncryption::Bits64,
            shape: "randflake".to_owned(),
        }
    }
}

impl FromStr for LayoutChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let written = text.split('@').next().unwrap_or(text).to_owned();
        let mut prefixes = [
            (ENCRYPTED, IdEncryption::Bits64),
            (ENCRYPTED_53, IdEncryption::Bits53),
        ]
        .into_iter();
        let asked = prefixes.find_map(|(prefix, form)| Some((form, text.strip_prefix(prefix)?)));
        let (asked, text) = asked.unwrap_or((IdEncryption::Plain, text));
        let (shape, times) = match text.split_once('@') {
            Some((shape, times)) => (shape, Some(read_times(times)?)),
            None => (text, None),
        };
        let (name, spec) = match shape.strip_prefix(CUSTOM) {
            Some(widths) => ("custom", read_custom(widths, times)?),
            None => read_preset(shape, times)?,
        };
        let form = match (name, asked) {
            // These have no plain form: their ids would tell time and node without anybody having
            // chosen so.
            ("randflake" | "milliflake", IdEncryption::Plain) => IdEncryption::Bits64,
            // Nor has this one another.
            ("randflake53", _) => IdEncryption::Bits53,
            _ => asked,
        };
        if form == IdEncryption::Bits53 && spec.bits() > 53 {
            return Err(format!(
                "the layout has {} bits: {ENCRYPTED_53} takes one of at most 53, such as randflake53, or custom:30,12,11 with an \
                 epoch and a tick",
                spec.bits()
            ));
        }
        Ok(Self {
            spec,
            form,
            shape: written,
        })
    }
}

/// Epoch in Unix milliseconds, and the tick's length in milliseconds if it is given.
type EpochAndTick = (u64, Option<u64>);

fn read_times(text: &str) -> Result<EpochAndTick, String> {
    let (epoch, tick) = match text.split_once('/') {
        Some((epoch, tick)) => (epoch, Some(tick)),
        None => (text, None),
    };
    if let Some(problem) = in_seconds(epoch) {
        return Err(problem);
    }
    // A number is never a date here: dates have hyphens.
    let epoch_unix_ms = epoch.parse().ok().or_else(|| date::unix_ms(epoch)).ok_or_else(|| {
        format!(
            "'{epoch}' is not an epoch: a date such as 2025-01-01 or Unix milliseconds are allowed"
        )
    })?;
    let tick_ms = tick.map(|tick| {
        tick.parse()
            .map_err(|_| format!("'{tick}' is not the length of a tick in milliseconds"))
    });
    Ok((epoch_unix_ms, tick_ms.transpose()?))
}

/// What is wrong with an epoch of as many digits as Unix seconds have: in milliseconds it is early
/// in 1970, before any id.
fn in_seconds(epoch: &str) -> Option<String> {
    const LEN: usize = "1577836800".len();
    let number: u64 = epoch.parse().ok().filter(|_| epoch.len() == LEN)?;
    let (meant, written) = (Duration::from_secs(number), Duration::from_millis(number));
    Some(format!(
        "'{epoch}' looks like Unix seconds, and milliseconds are allowed: write {epoch}000 or {}; if it is milliseconds, write {}",
        utc(meant),
        date::utc_in_ticks(date::whole_ms(written), 1)
    ))
}

fn read_preset(
    name: &str,
    times: Option<EpochAndTick>,
) -> Result<(&'static str, LayoutSpec), String> {
    let preset = LAYOUTS.iter().find(|(preset, _)| *preset == name);
    let Some(&(name, spec)) = preset else {
        let names = LAYOUTS.map(|(preset, _)| preset).join(", ");
        let known = LAYOUTS
            .iter()
            .find(|(preset, _)| preset.eq_ignore_ascii_case(name));
        return Err(match known {
            // Not taken as meant: scripts would rely on it, and messages and namespaces are in
            // lower case.
            Some((preset, _)) => format!("unknown layout: write {preset}, in lower case"),
            None => format!("unknown layout: {names} are known; {CUSTOM_SHAPE}"),
        });
    };
    let Some((epoch_unix_ms, tick_ms)) = times else {
        return Ok((name, spec));
    };
    let fields = LayoutFields {
        epoch_unix_ms,
        tick_ms: tick_ms.unwrap_or(spec.tick_ms()),
        ..spec.fields()
    };
    // Another epoch moves the times; the parts of the node id stay.
    let moved = LayoutSpec::new(fields).and_then(|moved| match spec.node_fields() {
        [] => Ok(moved),
        parts => moved.with_node_fields(parts),
    });
    Ok((name, moved.map_err(|error| error.to_string())?))
}

fn read_custom(widths: &str, times: Option<EpochAndTick>) -> Result<LayoutSpec, String> {
    let shape = |missing: &str| format!("{missing}: {CUSTOM_SHAPE}");
    let [time, node, sequence] = widths.split(',').collect::<Vec<_>>()[..] else {
        return Err(shape("three numbers of bits are needed"));
    };
    // Neither has a default: a guessed epoch would make ids that clash with those of the right one.
    let Some((epoch_unix_ms, Some(tick_ms))) = times else {
        return Err(shape("epoch and tick are missing"));
    };
    let width = |text: &str| {
        let bits = text.parse::<u32>();
        bits.map_err(|_| shape(&format!("'{text}' is not a number of bits")))
    };
    let (time, sequence) = (width(time)?, width(sequence)?);
    let parts = read_parts(node)?;
    let node = match &parts {
        None => width(node)?,
        Some(parts) => parts
            .iter()
            .fold(0, |bits: u32, &(_, part)| bits.saturating_add(part)),
    };
    // Summed in 64 bits: three numbers of 32 bits, as they were typed, may overflow 32.
    let together = [time, node, sequence]
        .into_iter()
        .map(u64::from)
        .sum::<u64>();
    // `LayoutSpec::new` refuses these as well, one field at a time; this says all of what is
    // allowed.
    if time == 0 || time > 63 || node > 32 || sequence > 32 || together > 64 {
        return Err(format!(
            "{time} + {node} + {sequence} bits are {together}: {CUSTOM_BITS}"
        ));
    }
    let fields = LayoutFields::in_order([time, node, sequence], epoch_unix_ms, tick_ms);
    let named = |spec: LayoutSpec| match parts {
        None => Ok(spec),
        // Names in a layout are static. A process reads few: one from its options, or one for each
        // line of `--namespaces`, both once.
        Some(parts) => spec.with_node_fields(parts.leak()),
    };
    LayoutSpec::new(fields)
        .and_then(named)
        .map_err(|error: LayoutError| error.to_string())
}

/// Reads the parts of a node id, `NAME:BITS+NAME:BITS`. `None` for a number, which has no parts.
fn read_parts(text: &str) -> Result<Option<Vec<(&'static str, u32)>>, String> {
    if !text.contains(':') {
        return Ok(None);
    }
    let part = |text: &str| {
        let (name, bits) = text.split_once(':')?;
        // Names go into JSON unescaped: see `command/inspect.rs`.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let bits = bits.parse().ok().filter(|bits| (1..=32).contains(bits))?;
        // As above.
        Some((&*name.to_owned().leak(), bits))
    };
    let parts: Option<Vec<_>> = text.split('+').map(part).collect();
    parts
        .map(Some)
        .ok_or_else(|| format!("'{text}': NAME:BITS+NAME:BITS is allowed, with 1 to 32 bits each"))
}

impl LayoutChoice {
    pub(crate) fn spec(&self) -> LayoutSpec {
        self.spec
    }

    pub(crate) fn form(&self) -> IdEncryption {
        self.form
    }

    /// The namespace unless another is asked for.
    ///
    /// It follows from the bits and the encryption, however the layout was written: two layouts in
    /// one namespace would be refused by the store, and one layout in two namespaces would repeat
    /// ids.
    pub(crate) fn namespace(&self) -> String {
        let fields = self.spec.fields();
        let prefix = match self.form {
            IdEncryption::Plain => "",
            IdEncryption::Bits64 => "encrypted-",
            IdEncryption::Bits53 => "encrypted53-",
        };
        if let Some(name) = preset(fields) {
            // `default` belongs to encrypted Randflake alone, so a plain layout never meets its
            // leases.
            return match (name, self.form) {
                ("randflake", IdEncryption::Bits64) => "default".to_owned(),
                ("randflake53", IdEncryption::Bits53) => name.to_owned(),
                _ => format!("{prefix}{name}"),
            };
        }
        let places = fields
            .bit_fields()
            .map(|field| format!("{}_{}", field.bits, field.shift));
        let (epoch_unix_ms, tick_ms) = (fields.epoch_unix_ms, fields.tick_ms);
        format!(
            "{prefix}custom-{}-{epoch_unix_ms}-{tick_ms}",
            places.join("-")
        )
    }

    /// Checks the node id that is asked for, if one is.
    pub(crate) fn node_id(&self, asked: Option<&str>) -> Result<Option<u32>, Failure> {
        const ARGUMENT: &str = "--node-id <N>";
        let Some(asked) = asked else {
            return Ok(None);
        };
        let max = self.spec.max_node_id();
        // The only node id, 0, is leased without being named.
        if max == 0 {
            let problem = "the layout has no node id: leave the option out";
            return Err(wrong(ARGUMENT, asked, problem));
        }
        check(ARGUMENT, asked, 0..=max.into()).map(Some)
    }

    /// Refuses to issue ids of a layout whose time is up, or has not begun. Its ids can still be
    /// read.
    pub(crate) fn has_time_left(&self) -> Result<(), Failure> {
        let unix = Duration::from_millis;
        let (first, last) = (
            self.spec.unix_ms(0),
            self.spec.unix_ms(self.spec.max_tick()),
        );
        let now = date::now();
        // Before a lease is asked for: with a time outside the layout's there is no tick to lease.
        // The last one lasts.
        if (unix(first)..unix(self.spec.end_unix_ms())).contains(&now) {
            return Ok(());
        }
        let (today, first, last) = (utc(now), utc(unix(first)), utc(unix(last)));
        let times =
            format!("ids of this layout have times from {first} to {last}, and it is {today}");
        if now < unix(self.spec.unix_ms(0)) {
            return Err(Failure::failed(format!(
                "{times}: correct this machine's clock, or take an epoch that has passed"
            )));
        }
        let (shape, tick_ms) = (&self.shape, self.spec.tick_ms());
        // An epoch of this year leaves the most time, if it can be written.
        let example = match today.get(..4).filter(|year| year.parse::<u16>().is_ok()) {
            Some(year) => format!(", such as --layout {shape}@{year}-01-01/{tick_ms},"),
            None => String::new(),
        };
        Err(Failure::failed(format!(
            "{times}: make new ones with another epoch{example} or in another layout; the ids that exist can still be \
             read"
        )))
    }
}
