//! Data that a factory writes into a device: its options, and the image.

use core::time::Duration;

use randflake_common::date;
use randflake_common::layout::IdEncryption;
use randflake_common::number::address;
use randflake_std::date::utc;
use randflake_std::lease::KeyCheck;
use randflake_std::randflake_core::{LayoutSpec, Lease, LeaseError};

use super::flash_image::FlashImage;
use super::region::{RegionArgs, first_horizon};
use crate::failure::Failure;
use crate::secret::KeyFileArgs;

#[derive(Debug, clap::Args)]
pub(super) struct FactoryArgs {
    #[command(flatten)]
    region: RegionArgs,
    /// When a device's first id may be made: a date, or a date and time, in UTC [default: now]
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: Option<Duration>,
    /// When the grant ends
    #[arg(long, value_name = "DATE", value_parser = date, requires = "grant_at")]
    until: Option<Duration>,
    /// Where the grant is written
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "until")]
    grant_at: Option<u32>,
    /// Write the secret of ids, --key-file, beside the grant
    #[arg(long, requires = "grant_at")]
    with_key: bool,
    #[command(flatten)]
    secret: KeyFileArgs,
}

/// Parses a date in UTC as Unix time.
fn date(text: &str) -> Result<Duration, String> {
    let unix_ms = date::unix_ms(text).map(Duration::from_millis);
    unix_ms.ok_or_else(|| "a date such as 2036-11-22 or 2036-11-22T09:30:00Z is allowed".to_owned())
}

/// How many bytes a grant takes, with the room for a key.
pub(super) const GRANT_LEN: usize = 32;

/// A grant's place in memory, and when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrantPlace {
    pub(super) at: u32,
    pub(super) until: Duration,
}

/// A secret of ids as devices hold it, and its check value.
#[derive(Debug)]
pub(super) struct DeviceKey {
    bytes: [u8; 16],
    pub(super) check: KeyCheck,
}

impl FactoryArgs {
    /// Where the grant goes, if there is one.
    pub(super) fn grant_place(&self) -> Option<GrantPlace> {
        let (at, until) = self.grant_at.zip(self.until)?;
        Some(GrantPlace { at, until })
    }

    /// When a device's first id may be made: as `--from` says, also in the past, or now.
    pub(super) fn from(&self) -> Duration {
        self.from.unwrap_or_else(date::now)
    }

    /// The key that is written beside each grant, if one is: the secret, or the key of 53-bit ids that follows from it.
    pub(super) fn key(&self, form: IdEncryption) -> Result<Option<DeviceKey>, Failure> {
        match (self.with_key, self.secret.read()?) {
            (false, None) => Ok(None),
            // The secret of the user or of the environment is that of servers, as a rule: a device that is opened would
            // give it away.
            (true, None) => Err(Failure::usage(
                "--with-key: say which secret goes into the devices, with --key-file FILE; `randflake keygen --out \
                 devices.key` makes one for all devices of a product, apart from that of the servers",
            )),
            (false, Some(_)) => Err(Failure::usage(
                "--key-file: only --with-key writes a secret into a device",
            )),
            (true, Some(secret)) => {
                let key = form.device_key(&secret);
                let check = form.key_check(&key);
                let key = u128::from_str_radix(&key.to_hex(), 16).map_err(Failure::failed)?;
                let bytes = key.to_be_bytes();
                Ok(Some(DeviceKey { bytes, check }))
            }
        }
    }

    /// The image of a device whose first id is made at `begins` or later.
    pub(super) fn image(
        &self,
        grant: Option<(GrantPlace, &Lease<LayoutSpec>, Option<&DeviceKey>)>,
        begins: Duration,
    ) -> Result<FlashImage, Failure> {
        let mut image = FlashImage::default();
        if let Some((place, grant, key)) = grant {
            image.add("the grant", place.at, grant_bytes(grant, key)?)?;
        }
        let pages = self.region.provisioned(first_horizon(begins)?)?;
        image.add("the horizon", self.region.horizon_at, pages)?;
        Ok(image)
    }
}

/// The grant of a node id between two times, of which the layout must have all.
pub(super) fn grant(
    spec: LayoutSpec,
    node_id: u32,
    from: Duration,
    until: Duration,
) -> Result<Lease<LayoutSpec>, Failure> {
    let tick = |time| spec.tick_at(time).unwrap_or(0);
    Lease::new(spec, node_id, tick(from), tick(until)).map_err(|_| {
        let [first, last] = [spec.epoch_unix_ms(), spec.unix_ms(spec.max_tick())]
            .map(|unix_ms| utc(Duration::from_millis(unix_ms)));
        Failure::usage(format!(
            "the grant is from {} until {}: --until must be after --from, and the layout has the times from {first} to \
             {last}",
            utc(from),
            utc(until)
        ))
    })
}

/// The grant in a memory, as firmware reads it.
pub(super) fn read_grant(spec: LayoutSpec, bytes: &[u8]) -> Result<Lease<LayoutSpec>, LeaseError> {
    let [node_id, start, end, version, ..] = bytes.as_chunks().0 else {
        return Err(LeaseError::NotProvisioned);
    };
    let words = [node_id, start, end, version];
    Lease::from_words(spec, words.map(|word| u32::from_le_bytes(*word)))
}

/// The 32 bytes that firmware reads: see the examples of `randflake-embedded`.
fn grant_bytes(grant: &Lease<LayoutSpec>, key: Option<&DeviceKey>) -> Result<Vec<u8>, Failure> {
    let tick = |tick| {
        u32::try_from(tick).map_err(|_| {
            Failure::usage("the layout's ticks have over 32 bits: leave --grant-at out")
        })
    };
    let words = [
        grant.node_id(),
        tick(grant.start())?,
        tick(grant.end())?,
        grant.layout().lease_version().into(),
    ];
    let mut bytes = words.map(u32::to_le_bytes).as_flattened().to_vec();
    // Ones, as in erased flash, say that there is no key.
    bytes.extend(key.map_or([0xff; 16], |key| key.bytes));
    Ok(bytes)
}
