//! The table of devices: CSV, row by row.

use core::fmt::{self, Display, Formatter};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord, Trim};

use randflake_common::leases::device_id;

use crate::failure::Failure;
use randflake_common::number::within;

const COLUMNS: &str = "the first line has the names of the columns, separated by commas: device, and node_id if node \
                       ids were chosen elsewhere";

/// Longest line, in bytes.
const LONGEST_LINE: usize = 64 << 10;

/// A device to provision.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceRow {
    line: u64,
    pub(super) device: u64,
    /// The node id that was chosen for it, if one was.
    pub(super) node_id: Option<u32>,
}

impl Display for DeviceRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: device {:016x}", self.line, self.device)
    }
}

/// The rows of a table, read when they are asked for.
pub(super) struct DeviceTable {
    reader: Reader<LimitedLines>,
    device: usize,
    node_id: Option<usize>,
    record: StringRecord,
    /// In which line each device stands.
    lines: BTreeMap<u64, u64>,
}

impl DeviceTable {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
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
    pub(super) fn next(&mut self) -> Result<Option<DeviceRow>, Failure> {
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
