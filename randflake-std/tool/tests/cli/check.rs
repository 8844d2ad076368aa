//! `lease check` on a device's memory, and a device that runs on what the tool has written

use std::collections::BTreeMap;
use std::fs;

use randflake_std::randflake_core::{HorizonLog, HorizonRecord, LogFlash};
use serde_json::Value;

use crate::provision::memory_of;
use crate::user::{Answer, KEY, User};

const PAGE: u32 = 256;
const HORIZON_AT: u32 = 0x8000;
const GRANT_AT: u32 = 0x7f00;
/// 2026-11-22
const BEGAN: u32 = 1_795_305_600;

/// A device that was provisioned, and a dump of its memory.
struct Device {
    user: User,
    flash: Flash,
    grant: Vec<u8>,
}

impl Device {
    fn new() -> Self {
        let user = User::new();
        user.write_key("meters.key", KEY);
        let out = user.argument("42.hex");
        let provision = format!(
            "lease provision --page-size 256 --slot-size 16 --horizon-at 0x8000 --grant-at 0x7f00 --node-id 42 --from \
             2026-11-22 --until 2036-11-22 --with-key --key-file meters.key --out {out}"
        );
        user.run(&provision.split(' ').collect::<Vec<_>>()).ok();
        let image = memory_of(&out);
        let mut flash = Flash::used(HORIZON_AT, 3, PAGE);
        flash.program(&image);
        let grant = image.range(GRANT_AT..GRANT_AT + 32).map(|(_, byte)| *byte);
        Self {
            user,
            flash,
            grant: grant.collect(),
        }
    }

    /// Issues ids until a time, a block of a minute after the other.
    fn run_until(&mut self, unix_s: u32) {
        let mut log = self.flash.open::<16>();
        while log.unix_s() < unix_s {
            let next = log.unix_s() + 60;
            log.raise(&mut self.flash, next).unwrap();
        }
    }

    fn check(&self, more: &str) -> Answer {
        // From the grant on, as a debugger reads it.
        let mut dump = self.grant.clone();
        dump.resize((HORIZON_AT - GRANT_AT) as usize, 0xff);
        dump.extend(&self.flash.bytes);
        fs::write(self.user.path("dump.bin"), dump).unwrap();
        let check = "lease check --image dump.bin --image-at 0x7f00 --page-size 256 --slot-size 16 --horizon-at 0x8000 \
                     --grant-at 0x7f00";
        let words: Vec<_> = check.split(' ').chain(more.split_whitespace()).collect();
        self.user.run(&words)
    }

    fn report(&self, more: &str) -> Value {
        let answer = self.check(&format!("--json {more}"));
        let report: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(report["trusted"], answer.status == Some(0), "{answer:?}");
        report
    }

    /// Why it may not be trusted: in the report, and in the one line of the failure.
    #[track_caller]
    fn problem(&self, more: &str) -> String {
        let report = self.report(more);
        let problems = report["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{report}");
        let problem = problems[0].as_str().unwrap().to_owned();
        let said = self.check(more).stderr;
        assert!(
            said.contains(&format!("not to be trusted: {problem}")),
            "{said}"
        );
        problem
    }
}

#[test]
fn a_new_device_shows_its_grant_key_and_first_horizon() {
    let device = Device::new();
    let report = device.report("--key-file meters.key");
    assert_eq!(report["horizon_utc"], "2026-11-22T00:00:00Z");
    assert_eq!(report["grant"]["node_id"], 42);
    assert_eq!(report["grant"]["end_utc"], "2036-11-22T00:00:00Z");
    assert_eq!(report["wear"]["erases_of_a_page"], 1);
    assert_eq!(
        (&report["damaged"], &report["pages"][0]["version"]),
        (&0.into(), &1.into())
    );
    // The check value is that by which a store knows the key.
    let check = report["key_check"].as_str().unwrap();
    let user = &device.user;
    user.run(&["generate", "--key-file", "meters.key"]).ok();
    user.write_key("other.key", &KEY.replace('d', "e"));
    let said = user.run(&["generate", "--key-file", "other.key"]).fails(1);
    let stored = format!("stored with the secret of check value {check},");
    assert!(said.contains(&stored), "{said}");
    let text = device.check("").ok();
    assert!(
        text.starts_with("horizon  2026-11-22T00:00:00Z\ngrant    node id 42, from 2026-11-22"),
        "{text}"
    );
    // The image itself is a dump, too.
    let hex = "lease check --image 42.hex --page-size 256 --slot-size 16 --horizon-at 0x8000 --grant-at 0x7f00";
    assert_eq!(user.run(&hex.split(' ').collect::<Vec<_>>()).ok(), text);
}

#[test]
fn wear_is_told_by_the_pages_times() {
    let mut device = Device::new();
    device.run_until(BEGAN + 70 * 3_600);
    let report = device.report("--cycles 1000");
    let told = report["wear"]["erases_of_a_page"].as_u64().unwrap();
    // One more by the programmer.
    let erased = 1 + device.flash.erases / 3;
    assert!(
        erased > 90 && told.abs_diff(erased) <= 1,
        "{erased}: {report}"
    );
    assert_eq!(report["wear"]["left_percent"], (1_000 - told) / 10);
    assert_eq!(report["horizon_utc"], "2026-11-24T22:00:00Z");
    assert!(device.problem("--cycles 50").contains("the flash is worn"));
}

#[test]
fn a_torn_record_is_counted_and_harmless() {
    let mut device = Device::new();
    device.run_until(BEGAN + 300);
    let before = device.report("");
    let pages = before["pages"].as_array().unwrap();
    let kept = pages.iter().position(|page| page["records"] != 0).unwrap();
    let records = u32::try_from(pages[kept]["records"].as_u64().unwrap()).unwrap();
    let torn = u32::try_from(kept).unwrap() * PAGE + (2 + records) * 16;
    device.flash.bytes[torn as usize] = 0x12;
    let after = device.report("");
    assert_eq!(
        (&after["damaged"], &before["damaged"]),
        (&1.into(), &0.into())
    );
    assert_eq!(after["horizon_utc"], before["horizon_utc"]);
    assert_eq!(after["trusted"], true);
}

/// The device takes the page for one that was tried, and falls back to the one before.
#[test]
fn a_page_that_lost_its_seal_is_not_trusted() {
    let mut device = Device::new();
    device.run_until(BEGAN + 3_600);
    let log = device.flash.open::<16>();
    let seal = log.kept_page() as usize + 16;
    device.flash.bytes[seal..seal + 16].fill(0);
    assert!(device.flash.open::<16>().unix_s() < log.unix_s());
    let said = device.problem("");
    assert!(
        said.contains("a record shows 2026-11-22T01:00:00Z, and the device opens 2026-11-22T00:"),
        "{said}"
    );
}

#[test]
fn what_a_device_would_refuse_is_not_trusted() {
    let mut device = Device::new();
    let new = device.flash.bytes.clone();
    device.flash.bytes.fill(0xff);
    assert!(device.problem("").contains("the horizon is lost"));
    device.flash.bytes.fill(0);
    assert!(device.problem("").contains("the horizon is lost"));

    // Another format: the number in the second slot is four times its version.
    device.flash.bytes.clone_from(&new);
    let later = HorizonRecord::new(4 * 240).unwrap();
    device.flash.bytes[16..24].copy_from_slice(&later.to_bytes());
    let said = device.problem("");
    assert!(
        said.contains("the horizon has format 240, and this tool and its firmware know 1"),
        "{said}"
    );
    device.flash.bytes = new;
    device.user.write_key("other.key", &KEY.replace('d', "e"));
    assert!(
        device
            .problem("--key-file other.key")
            .contains("not that of --key-file")
    );
    device.grant[12] = 2;
    assert!(
        device
            .problem("")
            .contains("the grant in the device's memory has version 2: 1 is known")
    );
    device.grant.fill(0xff);
    assert!(device.problem("").contains("there is no grant"));
}

#[test]
fn a_grant_that_is_used_up_is_told() {
    let mut device = Device::new();
    // The last record, ten years later.
    let mut log = device.flash.open::<16>();
    log.raise(&mut device.flash, 2_110_924_800).unwrap();
    assert!(device.problem("").contains("the grant is used up"));
}

/// Pages of flash, the first of which is at an address.
pub(crate) struct Flash {
    pub(crate) at: u32,
    pub(crate) bytes: Vec<u8>,
    page_bytes: u32,
    /// How many pages were erased.
    pub(crate) erases: u64,
}

impl Flash {
    /// Flash that others have used before.
    pub(crate) fn used(at: u32, pages: u32, page_bytes: u32) -> Self {
        Self {
            at,
            bytes: vec![0x5a; (pages * page_bytes) as usize],
            page_bytes,
            erases: 0,
        }
    }

    /// Programs an image, as far as it is of this flash.
    pub(crate) fn program(&mut self, image: &BTreeMap<u32, u8>) {
        let bytes = image.range(self.at..);
        for ((_, byte), cell) in bytes.zip(&mut self.bytes) {
            *cell = *byte;
        }
    }

    /// Opens the horizon as firmware does.
    pub(crate) fn open<const SLOT: usize>(&mut self) -> HorizonLog<SLOT> {
        HorizonLog::open(self).unwrap()
    }
}

impl LogFlash for Flash {
    type Error = core::convert::Infallible;

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap()
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error> {
        slot.copy_from_slice(&self.bytes[at as usize..][..slot.len()]);
        Ok(())
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error> {
        let cells = &mut self.bytes[at as usize..][..slot.len()];
        for (cell, byte) in cells.iter_mut().zip(slot) {
            *cell &= byte;
        }
        Ok(())
    }

    fn erase(&mut self, page: u32) -> Result<(), Self::Error> {
        self.erases += 1;
        self.bytes[page as usize..][..self.page_bytes as usize].fill(0xff);
        Ok(())
    }
}
