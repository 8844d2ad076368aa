//! Layout and secret, as the environment names them.

use std::env;
use std::path::PathBuf;

use randflake_core::{Cipher, LAYOUTS, LayoutFields, LayoutSpec};
use randflake_std::Secret;

const LAYOUT: &str = "RANDFLAKE_LAYOUT";
const KEY_FILE: &str = "RANDFLAKE_KEY_FILE";

/// Layouts whose ids are always encrypted: plain they would tell time and node without anybody having chosen so.
const ENCRYPTED: [&str; 2] = ["randflake", "milliflake"];
/// The layout whose ids are always encrypted to 53 bits.
const ENCRYPTED_53: &str = "randflake53";

pub(crate) struct Settings {
    pub(crate) layout: LayoutSpec,
    /// `None` for plain ids.
    pub(crate) cipher: Option<Cipher>,
}

impl Settings {
    pub(crate) fn from_environment() -> Result<Self, String> {
        let layout = match env::var(LAYOUT) {
            Ok(text) => text,
            Err(env::VarError::NotPresent) => "randflake".to_owned(),
            Err(error) => return Err(format!("{LAYOUT}: {error}")),
        };
        let (layout, form) = read_layout(&layout)?;
        let cipher = match form {
            Form::Plain => None,
            Form::Bits64 => Some(read_secret()?.cipher().into()),
            Form::Bits53 => Some(read_secret()?.feistel53().into()),
        };
        Ok(Self { layout, cipher })
    }
}

/// What ids of a layout are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Bits64,
    Bits53,
}

/// Reads a layout as the tool's option `--layout` writes it, except that an epoch is in Unix milliseconds and a node id has
/// no parts.
fn read_layout(text: &str) -> Result<(LayoutSpec, Form), String> {
    let mut prefixes = [("encrypted:", Form::Bits64), ("encrypted53:", Form::Bits53)].into_iter();
    let marked = prefixes.find_map(|(prefix, form)| Some((form, text.strip_prefix(prefix)?)));
    let (marked, rest) = marked.unwrap_or((Form::Plain, text));
    let (shape, times) = match rest.split_once('@') {
        Some((shape, times)) => (shape, Some(times)),
        None => (rest, None),
    };
    let fields = match shape.strip_prefix("custom:") {
        Some(widths) => custom(widths, times),
        None => named(shape, times),
    };
    let names = || LAYOUTS.map(|(name, _)| name).join(", ");
    let fields = fields.ok_or_else(|| {
        format!(
            "{LAYOUT}: '{text}' is no layout: {} are allowed, also with an epoch and a tick in milliseconds, as in \
             snowflake@1577836800000/1, or custom:41,10,12@1577836800000/1; before each, encrypted: if its ids are, or encrypted53: to \
             53 bits",
            names()
        )
    })?;
    let spec = LayoutSpec::new(fields).map_err(|error| format!("{LAYOUT}: '{text}': {error}"))?;
    let form = match marked {
        _ if shape == ENCRYPTED_53 => Form::Bits53,
        Form::Plain if ENCRYPTED.contains(&shape) => Form::Bits64,
        marked => marked,
    };
    if form == Form::Bits53 && spec.bits() > 53 {
        let bits = spec.bits();
        return Err(format!(
            "{LAYOUT}: '{text}': the layout has {bits} bits, and its ids 53"
        ));
    }
    Ok((spec, form))
}

fn named(name: &str, times: Option<&str>) -> Option<LayoutFields> {
    let (_, spec) = LAYOUTS.into_iter().find(|(known, _)| *known == name)?;
    let mut fields = spec.fields();
    if let Some(times) = times {
        let (epoch, tick) = read_times(times)?;
        fields.epoch_unix_ms = epoch;
        fields.tick_ms = tick.unwrap_or(fields.tick_ms);
    }
    Some(fields)
}

fn custom(widths: &str, times: Option<&str>) -> Option<LayoutFields> {
    let widths: Result<Vec<u32>, _> = widths.split(',').map(str::parse).collect();
    let widths = widths.ok()?.try_into().ok()?;
    // Neither has a default: a guessed one would show wrong times.
    let (epoch, tick) = read_times(times?)?;
    Some(LayoutFields::in_order(widths, epoch, tick?))
}

/// The epoch in Unix milliseconds, and the length of a tick if it is there.
fn read_times(text: &str) -> Option<(u64, Option<u64>)> {
    match text.split_once('/') {
        Some((epoch, tick)) => Some((epoch.parse().ok()?, Some(tick.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

fn read_secret() -> Result<Secret, String> {
    // The file, not the secret: an environment is inherited by all that the program starts.
    let Some(path) = env::var_os(KEY_FILE) else {
        return Err(format!(
            "{KEY_FILE} is not set: it is the file of the secret, with 32 hex digits and mode 0600"
        ));
    };
    Secret::from_file(PathBuf::from(path)).map_err(|error| format!("{KEY_FILE}: {error}"))
}
