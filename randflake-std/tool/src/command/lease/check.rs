//! The command `randflake lease check`.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use ihex::{Reader, Record};
use randflake_common::number::{address, within};
use randflake_std::Secret;
use randflake_std::date::utc;
use randflake_std::randflake_core::{HorizonRecord, LayoutSpec, Lease, LeaseError, LogPage};
use serde::Serialize;

use super::factory::{GRANT_LEN, RegionArgs, read_grant};
use super::provision::unix;
use crate::failure::Failure;
use crate::layout::LayoutArgs;
use crate::output::print;
use crate::secret::KeyFileArgs;

/// Say what the memory of a device shows: grant, key, horizon and wear
///
/// The dump is Intel HEX, or bytes, of which the first is at --image-at. Nothing is written, and no
/// store is asked. With --key-file the key in the dump must be that one.
///
/// The wear is estimated from the times of the pages: a ring of N pages is erased as often as the
/// horizon went around. It needs the grant, which says when the device began.
///
/// Exit status: 0 the device may be trusted to go on, 1 it may not, and why, 2 wrong arguments, or
/// the dump has not all of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease check --image dump.hex --page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000
  randflake lease check --image dump.bin --image-at 0x10000000 --page-size 4096 \\
    --horizon-at 0x101fc000 --grant-at 0x101fb000 --key-file meters.key --json")]
pub(crate) struct LeaseCheckArgs {
    /// The dump of the device's memory, as Intel HEX or bytes
    #[arg(long, value_name = "FILE")]
    image: PathBuf,
    /// The address of the first byte of a dump without addresses [default: that of the horizon]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    image_at: Option<u32>,
    #[command(flatten)]
    region: RegionArgs,
    /// Where the grant is
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    grant_at: Option<u32>,
    /// How often a page may be erased, as the data sheet says
    #[arg(long, value_name = "N", default_value = "10000", value_parser = within::<u64>(1..=u64::from(u32::MAX)))]
    cycles: u64,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    secret: KeyFileArgs,
}

/// What a dump shows.
#[derive(Debug, Serialize)]
struct DumpReport {
    trusted: bool,
    /// Why it may not be trusted.
    problems: Vec<String>,
    horizon_utc: Option<String>,
    grant: Option<GrantReport>,
    key_check: Option<String>,
    /// Whether the grant and the key were looked for.
    #[serde(skip)]
    is_grant_read: bool,
    wear: Option<WearReport>,
    damaged: u32,
    pages: Vec<PageReport>,
}

#[derive(Debug, Serialize)]
struct GrantReport {
    node_id: u32,
    start_utc: String,
    end_utc: String,
}

#[derive(Debug, Serialize)]
struct WearReport {
    erases_of_a_page: u64,
    cycles: u64,
    left_percent: u64,
}

#[derive(Debug, Serialize)]
struct PageReport {
    address: String,
    version: Option<u8>,
    head_utc: Option<String>,
    records: u32,
    damaged: u32,
    /// Marked as bad: its erase has failed, and the device no longer uses it.
    bad: bool,
}

impl LeaseCheckArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let dump = Dump::read(&self.image, self.image_at.unwrap_or(self.region.horizon_at))?;
        let bytes = dump.bytes(self.region.horizon_at, self.region.len()?)?;
        let shown = self.region.survey(&bytes)?;
        let mut problems = Vec::new();
        let horizon = self
            .region
            .open(&bytes)
            .map_err(|why| problems.push(why))
            .ok();
        let highest = shown.iter().filter_map(|page| page.highest).max();
        if let (Some(highest), Some(horizon)) = (highest.map(time), horizon)
            && highest > horizon
        {
            problems.push(format!(
                "a record shows {}, and the device opens {}: a page has lost its seal or its head, and ids in between would \
                 be issued again; or --slot-size is not that of the firmware",
                utc(highest),
                utc(horizon)
            ));
        }
        let mut key_check = None;
        let mut grant = None;
        if let Some(at) = self.grant_at {
            let bytes = dump.bytes(at, GRANT_LEN)?;
            let (found, key) = self.granted(&bytes, horizon, &mut problems)?;
            (grant, key_check) = (found, key);
        } else if self.secret.read()?.is_some() {
            return Err(Failure::usage(
                "--key-file: the key is beside the grant, --grant-at ADDRESS",
            ));
        }
        let wear = grant.zip(horizon).and_then(|(grant, horizon)| {
            self.wear(&shown, unix(grant.layout(), grant.start()), horizon)
        });
        if wear.as_ref().is_some_and(|wear| wear.left_percent == 0) {
            problems.push(format!(
                "the flash is worn: its pages may be erased {} times",
                self.cycles
            ));
        }
        let report = DumpReport {
            trusted: problems.is_empty(),
            horizon_utc: horizon.map(utc),
            grant: grant.map(|grant| GrantReport {
                node_id: grant.node_id(),
                start_utc: utc(unix(grant.layout(), grant.start())),
                end_utc: utc(unix(grant.layout(), grant.end())),
            }),
            key_check,
            is_grant_read: self.grant_at.is_some(),
            wear,
            damaged: shown.iter().map(|page| page.damaged).sum(),
            pages: self.pages(&shown),
            problems,
        };
        print(&report, self.json)?;
        if report.trusted {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "not to be trusted: {}",
            report.problems.join("; ")
        )))
    }

    /// The grant and the check value of the key beside it.
    fn granted(
        &self,
        bytes: &[u8],
        horizon: Option<Duration>,
        problems: &mut Vec<String>,
    ) -> Result<(Option<Lease<LayoutSpec>>, Option<String>), Failure> {
        let grant = read_grant(self.layout.layout.spec(), bytes);
        match (grant, horizon) {
            (Err(version @ LeaseError::GrantVersion { .. }), _) => {
                problems.push(version.to_string());
            }
            (Err(_), _) => problems.push(
                "there is no grant: the device was not provisioned, or not at --grant-at, or for another --layout"
                    .to_owned(),
            ),
            (Ok(grant), Some(horizon)) if horizon >= unix(grant.layout(), grant.end()) => {
                problems.push("the grant is used up: the device needs another one".to_owned());
            }
            _ => {}
        }
        let key = bytes
            .last_chunk()
            .filter(|key: &&[u8; 16]| **key != [0xff; 16]);
        let form = self.layout.layout.form();
        let check = key.map(|key| form.key_check(&Secret::from_bytes(*key)));
        let named = self
            .secret
            .read()?
            .map(|secret| form.key_check(&form.device_key(&secret)));
        if named.is_some() && check != named {
            problems.push("the key is not that of --key-file".to_owned());
        }
        let shown = check.map(|check| match check.value() {
            None => "plain".to_owned(),
            Some(value) => format!("{value:08x}"),
        });
        Ok((grant.ok(), shown))
    }

    fn pages(&self, shown: &[LogPage]) -> Vec<PageReport> {
        shown
            .iter()
            .enumerate()
            .map(|(number, page): (usize, &LogPage)| PageReport {
                address: format!("{:#x}", self.region.page_at(number)),
                version: page.version,
                head_utc: page.head.map(|head| utc(time(head))),
                records: page.records,
                damaged: page.damaged,
                bad: page.is_bad,
            })
            .collect()
    }

    /// How often each page was erased since the device began. `None` without a page that is
    /// complete.
    fn wear(&self, shown: &[LogPage], began: Duration, horizon: Duration) -> Option<WearReport> {
        let complete = shown.iter().filter(|page| page.version.is_some());
        let mut heads: Vec<_> = complete.filter_map(|page| page.head).map(time).collect();
        heads.sort_unstable();
        let [first, .., last] = *heads else {
            // The ring is in its first round: each page was erased once, by the factory.
            return heads.first().map(|_| self.wear_of(1));
        };
        let turns = heads.len() as u64 - 1;
        // Rounded up: rather too worn than too new.
        let pages_begun = horizon
            .saturating_sub(began)
            .as_secs()
            .saturating_mul(turns)
            .div_ceil(last.saturating_sub(first).as_secs().max(1));
        Some(self.wear_of(pages_begun.div_ceil(self.region.pages().into()).max(1)))
    }

    fn wear_of(&self, erases_of_a_page: u64) -> WearReport {
        let left = self.cycles.saturating_sub(erases_of_a_page);
        WearReport {
            erases_of_a_page,
            cycles: self.cycles,
            left_percent: left.saturating_mul(100) / self.cycles,
        }
    }
}

fn time(record: HorizonRecord) -> Duration {
    Duration::from_secs(record.unix_s().into())
}

impl Display for DumpReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let horizon = self.horizon_utc.as_deref().unwrap_or("none");
        writeln!(f, "horizon  {horizon}")?;
        let absent = if self.is_grant_read {
            "none"
        } else {
            "not looked at, without --grant-at"
        };
        match &self.grant {
            Some(grant) => writeln!(
                f,
                "grant    node id {}, from {} until {}",
                grant.node_id, grant.start_utc, grant.end_utc
            )?,
            None => writeln!(f, "grant    {absent}")?,
        }
        match &self.key_check {
            Some(check) => writeln!(f, "key      check value {check}")?,
            None => writeln!(f, "key      {absent}")?,
        }
        match &self.wear {
            Some(wear) => writeln!(
                f,
                "wear     {} of {} erases of each page, {} % left",
                wear.erases_of_a_page, wear.cycles, wear.left_percent
            )?,
            None => writeln!(f, "wear     not known")?,
        }
        write!(f, "damaged  {} records", self.damaged)?;
        match self.pages.iter().filter(|page| page.bad).count() {
            0 => Ok(()),
            bad => write!(f, ", {bad} bad pages"),
        }
    }
}

/// Ranges of a memory: where each begins, and its bytes.
#[derive(Debug, Default)]
pub(super) struct Dump(Vec<(u32, Vec<u8>)>);

impl Dump {
    /// Reads Intel HEX, which begins with a colon, or bytes, the first of which is that of an
    /// address.
    pub(super) fn read(path: &Path, base: u32) -> Result<Self, Failure> {
        let bytes = fs::read(path)
            .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        let text = str::from_utf8(&bytes)
            .ok()
            .filter(|text| text.starts_with(':'));
        match text {
            Some(text) => Self::of_hex(text).map_err(|problem| {
                Failure::failed(format!("{}: not Intel HEX: {problem}", path.display()))
            }),
            None => Ok(Self(vec![(base, bytes)])),
        }
    }

    fn of_hex(text: &str) -> Result<Self, String> {
        let mut dump = Self::default();
        let mut upper = 0;
        for record in Reader::new(text) {
            match record.map_err(|error| error.to_string())? {
                Record::ExtendedLinearAddress(high) => upper = u32::from(high) << 16,
                Record::ExtendedSegmentAddress(segment) => upper = u32::from(segment) << 4,
                Record::Data { offset, value } => {
                    dump.0.push((upper.wrapping_add(offset.into()), value));
                }
                Record::EndOfFile => return Ok(dump),
                // Where a program begins.
                Record::StartSegmentAddress { .. } | Record::StartLinearAddress(_) => {}
            }
        }
        // Without it the end may be missing.
        Err("it has no last line, :00000001FF".to_owned())
    }

    /// Some bytes, all of which must be there.
    pub(super) fn bytes(&self, at: u32, len: usize) -> Result<Vec<u8>, Failure> {
        let mut found = vec![None; len];
        for (begin, bytes) in &self.0 {
            // Distances to `at`: addresses have 32 bits, so these do not overflow.
            let distance = i64::from(*begin) - i64::from(at);
            for (place, byte) in (distance..).zip(bytes) {
                let place = usize::try_from(place).ok();
                if let Some(place) = place.and_then(|place| found.get_mut(place)) {
                    *place = Some(*byte);
                }
            }
        }
        let missing = found.iter().position(Option::is_none).unwrap_or_default();
        let bytes: Option<Vec<u8>> = found.into_iter().collect();
        bytes.ok_or_else(|| {
            Failure::usage(format!(
                "the dump has no byte at {:#x}: it must have all of the {len} from {at:#x} on",
                u64::from(at) + missing as u64
            ))
        })
    }
}
