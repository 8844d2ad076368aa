//! `lease line`: firmware files for the devices from a factory.

use core::fmt::{self, Display, Formatter};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use csv::{Reader, ReaderBuilder, StringRecord, Trim};
use randflake_common::date;
use randflake_common::leases::device_id;
use randflake_common::number::within;
use randflake_std::date::utc;
use randflake_std::lease::{Grant, Token};
use randflake_std::private_file;
use randflake_std::randflake_core::LeaseError;
use serde::Serialize;

use super::check::Dump;
use super::devices::Ledger;
use super::factory::ImageFormat;
use super::factory::{DeviceKey, FactoryArgs, GRANT_LEN, GrantPlace, grant, read_grant};
use super::provision::unix;
use crate::failure::{Failure, say};
use crate::output::stdout;
use crate::store::StoreArgs;

/// Provision devices in a factory: an image for each row of a CSV file
///
/// The first row has the names of the columns: `device`, a number of up to 16 hex digits such as a
/// serial number or a MAC address, and, if node ids were chosen elsewhere, `node_id`. For each
/// device a node id is leased from the store until --until, and DIR/DEVICE.hex is written as `lease
/// provision` does. Rows are handled as they come, so a scanner of serial numbers may write them:
/// randflake lease line - --out-dir images ...
///
/// The namespace is the ledger: no node id is given twice, whatever tables, runs and stations there
/// are, and no device gets a second image. So all stations take one store: sqlite:PATH on a single
/// machine, else a server such as postgres://HOST/DATABASE. Make the namespace once, with a longest
/// TTL as long as the grants. Keep it apart from those of servers.
///
/// A run that was cut goes on where it stopped: repeat it with the same --out-dir. A device is made
/// completely or not at all, and never gets another node id by a repetition.
///
/// Exit status: 0 each device has an image, 1 some have not, for the reasons that are said, 2 wrong
/// arguments or a wrong table.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease init --store sqlite:line.db --namespace meters --max-ttl 3660d
  randflake lease line devices.csv --out-dir images --store sqlite:line.db --namespace meters \\
    --horizon-at 0x101fc000 --page-size 4096 --grant-at 0x101fb000 --until 2036-11-22 \\
    --with-key --key-file meters.key")]
pub(crate) struct LeaseLineArgs {
    /// The table of devices; - is standard input
    #[arg(value_name = "CSV")]
    table: PathBuf,
    /// The folder of the images, which only its owner may read; made if it is not there
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// Print a JSON object for each device
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    factory: FactoryArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A device that has an image.
#[derive(Debug, Serialize)]
struct ProvisionedDevice {
    device: String,
    node_id: u32,
    end_utc: String,
    image: String,
    /// Whether this run made it.
    is_new: bool,
}

impl Display for ProvisionedDevice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let before = if self.is_new { "" } else { ", made before" };
        write!(
            f,
            "{}  node id {} until {}, {}{before}",
            self.device, self.node_id, self.end_utc, self.image
        )
    }
}

/// What became of a row.
enum Outcome {
    Provisioned(ProvisionedDevice),
    /// There is no image, and why; other devices are not affected.
    Refused(String),
}

impl LeaseLineArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let Some(place) = self.factory.grant_place() else {
            return Err(Failure::usage(
                "--grant-at and --until are missing: where the grant goes, and when it ends",
            ));
        };
        let key = self.factory.key(Ledger::form(&self.store)?)?;
        let mut table = DeviceTable::open(&self.table)?;
        let mut ledger = Ledger::open(&self.store, key.as_ref().map(|key| key.check))?;
        // A wrong address is refused before any node id is leased.
        let sample = grant(ledger.spec(), 0, self.factory.from(), place.until)?;
        self.factory
            .image(Some((place, &sample, key.as_ref())), self.factory.from())?;
        let folder = Folder::open(&self.out_dir)?;
        let mut run = LineRun {
            factory: &self.factory,
            place,
            key,
            leases: ledger.leases()?,
            ledger,
            folder,
        };
        run.check_folder()?;
        let mut out = stdout();
        let (mut made, mut refused) = (0_u64, 0_u64);
        while let Some(row) = table.next()? {
            let outcome = run.provision(&row).map_err(|error| error.behind(row))?;
            match outcome {
                Outcome::Provisioned(device) => {
                    made += 1;
                    out.value(&device, self.json)?;
                    // The writer of the rows may wait for the answer before the next one.
                    out.flush()?;
                }
                Outcome::Refused(why) => {
                    refused += 1;
                    say(&format!("{row}: {why}"));
                }
            }
        }
        match (made, refused) {
            (0, 0) => Err(Failure::usage("the table has no devices")),
            (_, 0) => Ok(out.flush()?),
            _ => Err(Failure::failed(format!(
                "{refused} of {} devices have no image, each for the reason above",
                made + refused
            ))),
        }
    }
}

/// One run over a table.
struct LineRun<'a> {
    factory: &'a FactoryArgs,
    place: GrantPlace,
    key: Option<DeviceKey>,
    ledger: Ledger,
    /// The leases when the run began. What other stations lease meanwhile is noticed by the
    /// registration.
    leases: BTreeMap<u64, Vec<Grant>>,
    folder: Folder,
}

impl LineRun<'_> {
    /// Refuses a ledger that does not know the images of this folder: an older copy would give
    /// their node ids once more.
    fn check_folder(&mut self) -> Result<(), Failure> {
        for device in self.folder.devices()? {
            if !self.leases.contains_key(&device) && !self.ledger.knows(device)? {
                return Err(Failure::failed(format!(
                    "{} has an image of device {device:016x}, which the ledger does not know: it is another one, or an older \
                     copy, and would give node ids a second time. Take the ledger of that image (--store, --namespace), or \
                     another --out-dir for another line",
                    self.folder.path().display()
                )));
            }
        }
        Ok(())
    }

    fn provision(&mut self, row: &DeviceRow) -> Result<Outcome, Failure> {
        let device = row.device;
        if self.folder.has_image(device) {
            return self.made_before(row);
        }
        let is_known = self.ledger.knows(device)?;
        let begun = self.folder.begun(device)?;
        if is_known && begun.is_none() {
            return Ok(Outcome::Refused(self.made_elsewhere(device)));
        }
        // Before the lease, so that a run which is cut in between finds it again by its token.
        let token = match begun {
            Some(token) => token,
            None => self.folder.begin(device)?,
        };
        let found = self
            .leases
            .get(&device)
            .into_iter()
            .flatten()
            .copied()
            .find(|grant| grant.token == token);
        let lease = match found {
            Some(grant) => grant,
            // It was begun here and not leased, and made elsewhere since.
            None if is_known => {
                self.folder.give_up(device)?;
                return Ok(Outcome::Refused(self.made_elsewhere(device)));
            }
            None => {
                let until = self.place.until;
                match row.node_id {
                    None => self.ledger.lease(device, token, until)?,
                    Some(node_id) => {
                        let leased = self.ledger.lease_chosen(device, token, node_id, until)?;
                        match leased {
                            Some(grant) => grant,
                            None => return self.taken(device, node_id),
                        }
                    }
                }
            }
        };
        if row.node_id.is_some_and(|node_id| node_id != lease.node_id) {
            return Ok(Outcome::Refused(format!(
                "it was begun with node id {}, and the table says another one now: put that back",
                lease.node_id
            )));
        }
        // The registration decides between stations: the first one makes the image.
        let is_first = !is_known && self.ledger.register(device, "")?;
        if !is_first {
            if self.has_other_lease(device, &lease)? {
                self.ledger.give_back(&lease)?;
                self.folder.give_up(device)?;
                return Ok(Outcome::Refused(self.made_elsewhere(device)));
            }
            // The image relies on a lease and a device that were only read.
            self.ledger.confirm(device)?;
        }
        self.write(device, &lease).map(Outcome::Provisioned)
    }

    /// Whether another station has leased for the device. The ledger is read anew: it is asked only
    /// where a run was cut, or two stations are at one device.
    fn has_other_lease(&mut self, device: u64, ours: &Grant) -> Result<bool, Failure> {
        self.leases = self.ledger.leases()?;
        let leases = self.leases.get(&device).into_iter().flatten();
        Ok(leases.clone().any(|grant| grant.token != ours.token))
    }

    fn write(&mut self, device: u64, lease: &Grant) -> Result<ProvisionedDevice, Failure> {
        let spec = self.ledger.spec();
        // From now on, also where the lease began before: an image that was made twice after all
        // then repeats nothing.
        let from = [self.factory.from(), date::now(), unix(spec, lease.start)]
            .into_iter()
            .max()
            .unwrap_or_default();
        let until = self.place.until.min(unix(spec, lease.end));
        let granted = grant(spec, lease.node_id, from, until)?;
        let image = self
            .factory
            .image(Some((self.place, &granted, self.key.as_ref())), from)?;
        let path = self
            .folder
            .finish(device, &image.to_file(ImageFormat::Hex)?)?;
        Ok(ProvisionedDevice {
            device: format!("{device:016x}"),
            node_id: lease.node_id,
            end_utc: utc(unix(spec, granted.end())),
            image: path.display().to_string(),
            is_new: true,
        })
    }

    fn taken(&mut self, device: u64, node_id: u32) -> Result<Outcome, Failure> {
        self.folder.give_up(device)?;
        Ok(Outcome::Refused(match self.ledger.holder_of(node_id)? {
            Some(holder) => format!(
                "node id {node_id} is that of {holder}: each device has one that no other ever had"
            ),
            None => format!(
                "node id {node_id} cannot be leased, and the ledger does not say who has it: choose another one"
            ),
        }))
    }

    fn made_before(&self, row: &DeviceRow) -> Result<Outcome, Failure> {
        let path = self.folder.image(row.device);
        let image = path.display().to_string();
        let spec = self.ledger.spec();
        let memory = Dump::read(&path, 0)?.bytes(self.place.at, GRANT_LEN)?;
        let granted = match read_grant(spec, &memory) {
            Err(version @ LeaseError::GrantVersion { .. }) => {
                return Ok(Outcome::Refused(format!("{image}: {version}")));
            }
            granted => granted.ok().map(|grant| (grant.node_id(), grant.end())),
        };
        let leases = self.leases.get(&row.device).into_iter().flatten();
        let lease = leases.last().map(|lease| lease.node_id);
        Ok(match granted {
            Some((node_id, _)) if row.node_id.is_some_and(|chosen| chosen != node_id) => {
                Outcome::Refused(format!(
                    "it has node id {node_id} in {image}, and the table says another one: a device has one node id for good"
                ))
            }
            Some((node_id, end)) if lease == Some(node_id) => {
                Outcome::Provisioned(ProvisionedDevice {
                    device: format!("{:016x}", row.device),
                    node_id,
                    end_utc: utc(unix(spec, end)),
                    image,
                    is_new: false,
                })
            }
            // It was provisioned once more, or the lease was released.
            _ => Outcome::Refused(format!(
                "the ledger has another node id for it than {image}: move that image away, and never program it again"
            )),
        })
    }

    /// Why a device that the ledger has, and this folder not, gets no image here.
    fn made_elsewhere(&self, device: u64) -> String {
        let leases = self.leases.get(&device).into_iter().flatten();
        match leases.last() {
            Some(lease) => format!(
                "its image was made before, with node id {}, and is not in {}: take it from the folder of that run, or from \
                 the other station. Programmed a second time, it would make the same ids again: a device that lost its \
                 horizon, or whose image is lost, gets another node id by `randflake lease provision --device {device:016x}`",
                lease.node_id,
                self.folder.path().display()
            ),
            // By `lease device`, for tickets; or another station has leased since this run began.
            None => format!(
                "it is registered already, by another run or for tickets: where it has no image, `randflake lease \
                 provision --device {device:016x}` with a grant leases a node id for it"
            ),
        }
    }
}

const COLUMNS: &str = "the first line has the names of the columns, separated by commas: device, and node_id if node \
                       ids were chosen elsewhere";

/// Longest line, in bytes.
const LONGEST_LINE: usize = 64 << 10;

/// A device to provision.
#[derive(Clone, Copy, Debug)]
struct DeviceRow {
    line: u64,
    device: u64,
    /// The node id that was chosen for it, if one was.
    node_id: Option<u32>,
}

impl Display for DeviceRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: device {:016x}", self.line, self.device)
    }
}

/// The rows of a table, read when they are asked for.
struct DeviceTable {
    reader: Reader<LimitedLines>,
    device: usize,
    node_id: Option<usize>,
    record: StringRecord,
    /// In which line each device stands.
    lines: BTreeMap<u64, u64>,
}

impl DeviceTable {
    fn open(path: &Path) -> Result<Self, Failure> {
        let input: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let file = File::open(path);
            Box::new(file.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?)
        };
        let input = LimitedLines { input, line: 0 };
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(input);
        let names = reader.headers().map_err(|error| wrong(&error))?;
        let column = |name| names.iter().position(|column| column == name);
        let (device, node_id) = (column("device"), column("node_id"));
        // A column with a mistyped name must not be left out: the node ids in it would be others.
        let other = names
            .iter()
            .find(|name| !["device", "node_id"].contains(name));
        let known = 1 + usize::from(node_id.is_some());
        match (device, other) {
            (Some(device), None) if names.len() == known => Ok(Self {
                reader,
                device,
                node_id,
                record: StringRecord::new(),
                lines: BTreeMap::new(),
            }),
            (_, Some(other)) => Err(Failure::usage(format!("line 1: {other:?}: {COLUMNS}"))),
            _ => Err(Failure::usage(format!("line 1: {COLUMNS}, each once"))),
        }
    }

    /// The next device; `None` after the last one.
    fn next(&mut self) -> Result<Option<DeviceRow>, Failure> {
        let read = self.reader.read_record(&mut self.record);
        if !read.map_err(|error| wrong(&error))? {
            return Ok(None);
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        let at = |column: usize| self.record.get(column).unwrap_or_default();
        let refused = |column: &str, text: &str, allowed: &str| {
            Failure::usage(format!("line {line}: {column} {text:?}: {allowed}"))
        };
        let text = at(self.device);
        let device = device_id(text).map_err(|allowed| {
            // Spreadsheets take 123e8 for a number, and show it as 1.23E+10.
            let allowed = format!("{allowed}; a spreadsheet keeps them in a column of text");
            refused("device", text, &allowed)
        })?;
        let node_id = match self.node_id.map(at) {
            None | Some("") => None,
            Some(text) => {
                let node_id = within(0..=u64::from(u32::MAX))(text);
                Some(node_id.map_err(|allowed| refused("node_id", text, &allowed))?)
            }
        };
        // Were it taken for a repetition, two devices of one number would get one image.
        if let Some(before) = self.lines.insert(device, line) {
            return Err(Failure::usage(format!(
                "line {line}: device {device:016x} stands in line {before}, too: each has a number of its own"
            )));
        }
        Ok(Some(DeviceRow {
            line,
            device,
            node_id,
        }))
    }
}

/// Input whose lines have a limit: a file that was named by mistake is not read whole.
struct LimitedLines {
    input: Box<dyn Read>,
    /// Length of the line that is being read.
    line: usize,
}

impl Read for LimitedLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        self.line = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read - end,
            None => self.line + read,
        };
        if self.line > LONGEST_LINE {
            return Err(io::Error::other(format!(
                "a line of over {LONGEST_LINE} bytes: is it a table of devices?"
            )));
        }
        Ok(read)
    }
}

/// What is wrong with a table that cannot be read as CSV.
fn wrong(error: &csv::Error) -> Failure {
    match error.kind() {
        csv::ErrorKind::Io(error) => Failure::failed(format!("the table: {error}")),
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            Failure::usage(format!(
                "line {line}: it has {len} columns, and the first line {expected_len}"
            ))
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            Failure::usage(format!(
                "line {line}: not UTF-8: save the table as CSV in UTF-8"
            ))
        }
        _ => Failure::usage(error),
    }
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Locked while the run lasts: two runs would both go on with what one has begun.
    _lock: File,
}

impl Folder {
    /// The folder, made if it is not there, for this run alone.
    fn open(path: &Path) -> Result<Self, Failure> {
        private_file::create_directory(path)
            .map_err(|refusal| Failure::failed(format!("--out-dir {refusal}")))?;
        let lock = private_file::open(&path.join(".lock")).map_err(Failure::failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Failure::failed(format!(
                "another run writes to {}: wait for its end, or give each station a folder of its own",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(path, &error)),
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn image(&self, device: u64) -> PathBuf {
        self.path.join(format!("{device:016x}.hex"))
    }

    fn begun_path(&self, device: u64) -> PathBuf {
        self.path.join(format!(".{device:016x}.begun"))
    }

    fn has_image(&self, device: u64) -> bool {
        self.image(device).exists()
    }

    /// The devices that have an image.
    fn devices(&self) -> Result<Vec<u64>, Failure> {
        let mut devices = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(|error| failed(&self.path, &error))? {
            let name = entry
                .map_err(|error| failed(&self.path, &error))?
                .file_name();
            let digits = name.to_str().and_then(|name| name.strip_suffix(".hex"));
            let device = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            // Other files are the operator's.
            devices.extend(device.filter(|device| self.image(*device).ends_with(&name)));
        }
        Ok(devices)
    }

    /// The token of a lease that was begun here, and whose image is not there.
    fn begun(&self, device: u64) -> Result<Option<Token>, Failure> {
        let path = self.begun_path(device);
        match fs::read_to_string(&path) {
            Ok(text) => {
                // Without its end it was cut while it was written: no lease was asked for.
                let digits = text.strip_suffix('\n');
                let token = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
                Ok(token.map(|token| Token::from_bytes(token.to_be_bytes())))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Notes durably that a device is begun, and returns the token for its lease.
    fn begin(&self, device: u64) -> Result<Token, Failure> {
        let token = Token::random().map_err(Failure::failed)?;
        let path = self.begun_path(device);
        remove(&path)?;
        private_file::write_new(&path, format!("{token}\n").as_bytes())
            .and_then(|()| private_file::sync_name(&path))
            .map_err(|error| failed(&path, &error))?;
        Ok(token)
    }

    /// Writes the image, which gets its name when it is whole.
    fn finish(&self, device: u64, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let image = self.image(device);
        let draft = self.path.join(format!(".{device:016x}.draft"));
        remove(&draft)?;
        private_file::write_new(&draft, bytes)
            .and_then(|()| fs::rename(&draft, &image))
            .and_then(|()| private_file::sync_name(&image))
            .map_err(|error| failed(&image, &error))?;
        self.give_up(device)?;
        Ok(image)
    }

    /// Forgets that a device was begun.
    fn give_up(&self, device: u64) -> Result<(), Failure> {
        remove(&self.begun_path(device))
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}
