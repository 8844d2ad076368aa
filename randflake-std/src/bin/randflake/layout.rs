//! Which layout the ids have.

use core::str::FromStr;
use core::time::Duration;

use randflake_std::lease::Namespace;
use randflake_std::ledger::Seal;
use randflake_std::randflake_core::{Codec, Field, Fields, LayoutError, NodeField, Spec};
use randflake_std::{
    AnyPermutation, Baidu, Custom, Discord, Instagram, Layout, Mastodon, Randflake, Snowflake,
    Sonyflake,
};

use crate::failure::Failure;
use crate::record::utc;
use crate::secret::SecretArgs;
use crate::store::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct LayoutArgs {
    /// Which bits mean what: randflake, snowflake, sonyflake, discord, instagram, mastodon, baidu or
    /// custom:TIME,NODE,SEQUENCE@EPOCH_MS/TICK_MS
    ///
    /// Randflake ids are encrypted, the others are plain unless encrypted: stands before them. A name may
    /// be followed by another epoch and tick, as in sonyflake@1735689600000/10. A custom layout has the
    /// widths of its fields in bits, from the highest down; the node id may have parts with names, as in
    /// custom:38,region:6+type:14+machine:2,3@1577836800000/10.
    #[arg(long, value_name = "LAYOUT", default_value = "randflake")]
    pub(crate) layout: Chosen,
}

/// A layout that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    spec: Spec,
    encrypted: bool,
}

const PRESETS: [(&str, Spec); 7] = [
    ("randflake", Randflake::SPEC),
    ("snowflake", Snowflake::SPEC),
    ("sonyflake", Sonyflake::SPEC),
    ("discord", Discord::SPEC),
    ("instagram", Instagram::SPEC),
    ("mastodon", Mastodon::SPEC),
    ("baidu", Baidu::SPEC),
];

const ENCRYPTED: &str = "encrypted:";
const CUSTOM: &str = "custom:";
const CUSTOM_ALLOWED: &str = "custom:TIME,NODE,SEQUENCE@EPOCH_MS/TICK_MS is allowed, with 1 to 63 bits of \
                              time, 0 to 32 of node id, 0 to 32 of sequence and at most 64 together";

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (asked_encrypted, text) = match text.strip_prefix(ENCRYPTED) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (shape, times) = match text.split_once('@') {
            Some((shape, times)) => (shape, Some(read_times(times)?)),
            None => (text, None),
        };
        let (name, spec) = match shape.strip_prefix(CUSTOM) {
            Some(widths) => ("custom", read_custom(widths, times)?),
            None => read_preset(shape, times)?,
        };
        Ok(Self {
            spec,
            encrypted: asked_encrypted || name == "randflake",
        })
    }
}

/// Epoch in Unix milliseconds, and the tick's length.
type Times = (u64, Option<u64>);

fn read_times(text: &str) -> Result<Times, String> {
    let (epoch, tick) = match text.split_once('/') {
        Some((epoch, tick)) => (epoch, Some(tick)),
        None => (text, None),
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("'{text}' is no number of milliseconds"))
    };
    Ok((number(epoch)?, tick.map(number).transpose()?))
}

fn read_preset(name: &str, times: Option<Times>) -> Result<(&'static str, Spec), String> {
    let preset = PRESETS.iter().find(|(preset, _)| *preset == name);
    let Some(&(name, spec)) = preset else {
        let names = PRESETS.map(|(preset, _)| preset).join(", ");
        return Err(format!("{names} and {CUSTOM_ALLOWED} are allowed"));
    };
    let Some((epoch_unix_ms, tick_ms)) = times else {
        return Ok((name, spec));
    };
    let fields = Fields {
        epoch_unix_ms,
        tick_ms: tick_ms.unwrap_or(spec.tick_ms()),
        ..spec.fields()
    };
    let moved = Spec::new(fields).and_then(|moved| match spec.node_fields() {
        [] => Ok(moved),
        parts => moved.with_node_fields(parts),
    });
    Ok((name, moved.map_err(|error| error.to_string())?))
}

fn read_custom(widths: &str, times: Option<Times>) -> Result<Spec, String> {
    let allowed = || CUSTOM_ALLOWED.to_owned();
    let [time, node, sequence] = widths.split(',').collect::<Vec<_>>()[..] else {
        return Err(allowed());
    };
    let Some((epoch_unix_ms, Some(tick_ms))) = times else {
        return Err(allowed());
    };
    let width = |text: &str| text.parse::<u32>().map_err(|_| allowed());
    let (time, sequence) = (width(time)?, width(sequence)?);
    let parts = read_parts(node)?;
    let node = match &parts {
        None => width(node)?,
        Some(parts) => parts
            .iter()
            .fold(0, |bits: u32, part| bits.saturating_add(part.bits)),
    };
    let together = [time, node, sequence]
        .into_iter()
        .map(u64::from)
        .sum::<u64>();
    if time == 0 || time > 63 || node > 32 || sequence > 32 || together > 64 {
        return Err(format!(
            "{CUSTOM_ALLOWED}: {time} + {node} + {sequence} bits are {together}"
        ));
    }
    let field = |bits, shift| Field { bits, shift };
    let fields = Fields {
        timestamp: field(time, node + sequence),
        node_id: field(node, sequence),
        sequence: field(sequence, 0),
        epoch_unix_ms,
        tick_ms,
    };
    let named = |spec: Spec| match parts {
        None => Ok(spec),
        // There is one layout in the life of the process.
        Some(parts) => spec.with_node_fields(parts.leak()),
    };
    Spec::new(fields)
        .and_then(named)
        .map_err(|error: LayoutError| error.to_string())
}

/// `NAME:BITS+NAME:BITS`, or `None` for a number.
fn read_parts(text: &str) -> Result<Option<Vec<NodeField>>, String> {
    if !text.contains(':') {
        return Ok(None);
    }
    let part = |text: &str| {
        let (name, bits) = text.split_once(':')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        Some(NodeField {
            name: name.to_owned().leak(),
            bits: bits.parse().ok().filter(|bits| (1..=32).contains(bits))?,
        })
    };
    let parts: Option<Vec<_>> = text.split('+').map(part).collect();
    parts
        .map(Some)
        .ok_or_else(|| format!("'{text}': NAME:BITS+NAME:BITS is allowed, with 1 to 32 bits each"))
}

/// The layout of a stored namespace, as `--layout` takes it if that is possible.
pub(crate) fn described(namespace: &Namespace) -> String {
    let fields = namespace.spec().fields();
    let encrypted = match namespace.terms().seal {
        Some(Seal::Plain) => "plain ",
        Some(Seal::Key(_)) => "encrypted ",
        None => "",
    };
    let preset = PRESETS.iter().find(|(_, spec)| spec.fields() == fields);
    if let Some((name, _)) = preset {
        return format!("{encrypted}{name}");
    }
    let Fields {
        timestamp,
        node_id,
        sequence,
        epoch_unix_ms,
        tick_ms,
    } = fields;
    let mut places = [
        ("time", timestamp),
        ("node", node_id),
        ("sequence", sequence),
    ];
    places.sort_by_key(|(_, field)| core::cmp::Reverse(field.shift));
    let places = places.map(|(name, field)| format!("{name} {}", field.bits));
    format!(
        "{encrypted}{} bits, ticks of {tick_ms} ms since {}",
        places.join(" + "),
        utc(Duration::from_millis(epoch_unix_ms))
    )
}

impl Chosen {
    /// How its ids become public, unless that takes a secret that is not known here.
    pub(crate) fn known_permutation(
        &self,
        secret: &SecretArgs,
    ) -> Result<Option<AnyPermutation>, Failure> {
        if !self.encrypted {
            return Ok(Some(AnyPermutation::Plain));
        }
        let secret = secret.source()?.read()?;
        Ok(secret.map(|secret| AnyPermutation::Sparx64(secret.cipher())))
    }

    pub(crate) fn spec(&self) -> Spec {
        self.spec
    }

    pub(crate) fn layout(&self) -> Custom {
        self.spec.into()
    }

    /// The namespace unless another is asked for. It follows from the bits and the encryption, however the layout
    /// was written: ids of two layouts must not share one, and one layout must not have two.
    pub(crate) fn namespace(&self) -> String {
        let fields = self.spec.fields();
        let preset = PRESETS.iter().find(|(_, spec)| spec.fields() == fields);
        let prefix = if self.encrypted { "encrypted-" } else { "" };
        if let Some((name, _)) = preset {
            return match (*name, self.encrypted) {
                ("randflake", true) => "default".to_owned(),
                _ => format!("{prefix}{name}"),
            };
        }
        let Fields {
            timestamp,
            node_id,
            sequence,
            epoch_unix_ms,
            tick_ms,
        } = fields;
        let places =
            [timestamp, node_id, sequence].map(|field| format!("{}_{}", field.bits, field.shift));
        format!(
            "{prefix}custom-{}-{epoch_unix_ms}-{tick_ms}",
            places.join("-")
        )
    }

    /// The codec, with a secret where there is something to encrypt.
    pub(crate) fn codec(&self, secret: &SecretArgs) -> Result<Codec<Custom>, Failure> {
        let permutation = if self.encrypted {
            AnyPermutation::Sparx64(secret.read()?.cipher())
        } else {
            AnyPermutation::Plain
        };
        Ok(Codec::of(self.layout(), permutation))
    }

    /// [`codec`](Chosen::codec), with a secret that is made if none was ever given or made.
    pub(crate) fn codec_for_issuing(
        &self,
        secret: &SecretArgs,
        store: &StoreArgs,
    ) -> Result<Codec<Custom>, Failure> {
        let permutation = if self.encrypted {
            AnyPermutation::Sparx64(secret.read_or_make(store)?.cipher())
        } else {
            AnyPermutation::Plain
        };
        Ok(Codec::of(self.layout(), permutation))
    }
}
