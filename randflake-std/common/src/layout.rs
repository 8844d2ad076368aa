//! Layouts for people, and the form of their ids: plain, or encrypted to 64 or 53 bits.

use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::lease::{KeyCheck, Namespace};
use randflake_std::randflake_core::{LAYOUTS, LayoutFields};
use randflake_std::{Any53, Cipher, Feistel53, Id, Layout, Randflake53, Secret};

use crate::failure::Failure;
use crate::form::GivenId;

/// Encryption of the ids of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdEncryption {
    /// Not encrypted.
    Plain,
    /// Encrypted to 64 bits.
    Bits64,
    /// Encrypted to 53 bits.
    Bits53,
}

impl IdEncryption {
    /// That of a namespace. Until somebody with the key has used it, it is what the layout's name
    /// alone means.
    pub fn of(namespace: &Namespace) -> Self {
        match namespace.key_check() {
            Some(KeyCheck::Plain) => Self::Plain,
            Some(KeyCheck::Key53(_)) => Self::Bits53,
            None if namespace.spec().fields() == Randflake53::SPEC.fields() => Self::Bits53,
            // The id in a tagged UUID is encrypted to 64 bits.
            Some(KeyCheck::Key(_) | KeyCheck::Tagged { .. }) | None => Self::Bits64,
        }
    }

    /// Encryption by a cipher, or none.
    pub fn of_cipher(cipher: Option<&Cipher>) -> Self {
        match cipher {
            None => Self::Plain,
            Some(Cipher::Feistel53(_)) => Self::Bits53,
            Some(_) => Self::Bits64,
        }
    }

    /// Whether a secret is needed.
    pub const fn is_encrypted(self) -> bool {
        !matches!(self, Self::Plain)
    }

    /// The cipher under a secret; `None` of plain ids.
    pub fn cipher(self, secret: &Secret) -> Option<Cipher> {
        match self {
            Self::Plain => None,
            Self::Bits64 => Some(secret.cipher().into()),
            Self::Bits53 => Some(secret.feistel53().into()),
        }
    }

    /// The key of SPARX, which a device or a database has for ids: the secret, or what 53-bit ids
    /// have in its place.
    pub fn device_key(self, secret: &Secret) -> Secret {
        match self {
            Self::Plain | Self::Bits64 => secret.clone(),
            Self::Bits53 => secret.key53(),
        }
    }

    /// The key check of such a key.
    pub fn key_check(self, device_key: &Secret) -> KeyCheck {
        match self {
            Self::Plain | Self::Bits64 => KeyCheck::of(&device_key.cipher()),
            Self::Bits53 => KeyCheck::of(&Feistel53::new(device_key.cipher())),
        }
    }

    /// Refuses what is no id of this form.
    pub fn check(self, id: Id) -> Result<(), String> {
        match self {
            Self::Plain | Self::Bits64 => Ok(()),
            Self::Bits53 => id
                .try_typed::<Any53>()
                .map(drop)
                .map_err(|error| error.to_string()),
        }
    }

    /// The ids before the first that is none of this form, and what is wrong with it.
    pub fn checked(self, ids: &[GivenId]) -> (&[GivenId], Result<(), Failure>) {
        for (index, given) in ids.iter().enumerate() {
            if let Err(problem) = self.check(given.id) {
                return (&ids[..index], Err(Failure::usage(problem)));
            }
        }
        (ids, Ok(()))
    }

    /// The number that JSON has of an id; `None` where JavaScript would round it.
    pub fn number(self, id: Id) -> Option<u64> {
        (self == Self::Bits53).then(|| id.to_u64())
    }
}

/// The name of the published layout that has these fields, if one has.
pub fn preset(fields: LayoutFields) -> Option<&'static str> {
    LAYOUTS
        .iter()
        .find(|(_, spec)| spec.fields() == fields)
        .map(|(name, _)| *name)
}

/// The layout of a stored namespace, for people.
pub fn described(namespace: &Namespace) -> String {
    let fields = namespace.spec().fields();
    let encrypted = match namespace.key_check() {
        Some(KeyCheck::Plain) => "plain ",
        Some(KeyCheck::Key(_)) => "encrypted ",
        Some(KeyCheck::Key53(_)) => "encrypted53 ",
        Some(KeyCheck::Tagged { number, .. }) => &format!("tagged under key {number} "),
        None => "",
    };
    if let Some(name) = preset(fields) {
        return format!("{encrypted}{name}");
    }
    let names = ["time", "node", "sequence"].into_iter();
    let mut parts: Vec<_> = names.zip(fields.bit_fields()).collect();
    // As in an id: Sonyflake has the sequence above the node id.
    parts.sort_by_key(|(_, field)| core::cmp::Reverse(field.shift));
    let widths: Vec<_> = parts
        .iter()
        .map(|(name, field)| format!("{name} {}", field.bits))
        .collect();
    format!(
        "{encrypted}{} bits, ticks of {} ms since {}",
        widths.join(" + "),
        fields.tick_ms,
        utc(Duration::from_millis(fields.epoch_unix_ms))
    )
}
