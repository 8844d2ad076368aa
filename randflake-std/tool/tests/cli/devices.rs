//! Devices: images, grants and tickets that the tool makes, and dumps that it reads, as firmware
//! does.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use humantime::parse_rfc3339;
use ihex::{Reader, Record};
use randflake_std::randflake_core::{
    HorizonLog, HorizonRecord, Lease, LeaseError, LogFlash, Randflake, Randflake53, TicketReader,
};
use serde_json::Value;

use crate::user::{Answer, KEY, User, objects, words, year};

const BASE: &[&str] = &["lease", "provision", "--page-size", "4096"];
const PAGES: usize = 3 * 4096;
const KEYED: [&str; 3] = ["--with-key", "--key-file", "devices.key"];

/// An image, and what a device finds in it.
fn memory_of(path: impl AsRef<Path>) -> BTreeMap<u32, u8> {
    read(&fs::read_to_string(path).unwrap())
}

/// A number of a grant.
fn word(memory: &BTreeMap<u32, u8>, at: u32) -> u32 {
    u32::from_le_bytes(bytes(memory, at, 4).try_into().unwrap())
}

/// Intel HEX as a programmer reads it: each byte by its address.
fn read(text: &str) -> BTreeMap<u32, u8> {
    let mut memory = BTreeMap::new();
    let mut upper = 0;
    for record in Reader::new(text) {
        match record.unwrap() {
            Record::ExtendedLinearAddress(high) => upper = u32::from(high) << 16,
            Record::Data { offset, value } => {
                let first = upper + u32::from(offset);
                for (at, byte) in (first..).zip(value) {
                    assert_eq!(memory.insert(at, byte), None, "{at:#x} twice");
                }
            }
            other => assert_eq!(other, Record::EndOfFile),
        }
    }
    memory
}

fn bytes(memory: &BTreeMap<u32, u8>, at: u32, len: usize) -> Vec<u8> {
    let range = memory.range(at..).take(len);
    let found: Vec<_> = range.map(|(_, byte)| *byte).collect();
    assert_eq!(found.len(), len);
    found
}

/// The horizon that a device opens whose flash was used before.
fn horizon<const SLOT: usize>(memory: &BTreeMap<u32, u8>, at: u32) -> u32 {
    let mut flash = Flash::used(at, 3, 4096);
    flash.program(memory);
    flash.open::<SLOT>().unix_s()
}

#[test]
fn the_pages_of_a_horizon_are_what_a_device_opens() {
    let user = User::new();
    let run = |more: &[&str]| user.run(&[BASE, more].concat());
    let out = user.argument("horizon.bin");
    let from = ["--from", "2026-11-22T09:30:00Z", "--horizon-at"];
    let said = run(&[&from[..], &["0", "--format", "bin", "--out", &out]].concat()).ok();
    assert_eq!(
        said,
        "no id will be of a time before 2026-11-22T09:30:00Z\n"
    );
    let pages: BTreeMap<_, _> = (0..).zip(fs::read(&out).unwrap()).collect();
    assert_eq!(pages.len(), PAGES);
    assert_eq!(horizon::<8>(&pages, 0), 1_795_339_800);

    // At an address.
    let out = user.argument("horizon.hex");
    run(&[&from[..], &["0x1000f000", "--out", &out]].concat()).ok();
    let memory = memory_of(&out);
    assert!(memory.values().eq(pages.values()));
    assert_eq!(horizon::<8>(&memory, 0x1000_f000), 1_795_339_800);

    // Slots of flash with ECC, and another number of pages.
    let out = user.argument("slots.hex");
    let slots = ["0", "--slot-size", "32", "--pages", "5", "--out", &out];
    run(&[&from[..], &slots].concat()).ok();
    let memory = memory_of(&out);
    assert_eq!(memory.len(), 5 * 4096);
    assert_eq!(horizon::<32>(&memory, 0), 1_795_339_800);

    // From now on, unless a date is given.
    let out = user.argument("now.hex");
    run(&["--horizon-at", "0", "--out", &out]).ok();
    assert!(horizon::<8>(&memory_of(&out), 0) > 1_795_339_800);
}

/// A device that comes back has records that are higher than those of its new grant.
#[test]
fn no_page_keeps_an_older_record() {
    let user = User::new();
    let mut flash = Flash::used(0, 3, 4096);
    for (out, from) in [("2035.hex", "2035-11-22"), ("2026.hex", "2026-11-22")] {
        let out = user.argument(out);
        let provision = ["--horizon-at", "0", "--from", from, "--out", &out];
        user.run(&[BASE, &provision].concat()).ok();
        flash.program(&memory_of(&out));
        // Into the second page.
        let mut log = flash.open::<8>();
        let begins = log.unix_s();
        log.raise(&mut flash, begins + 60).unwrap();
        assert_ne!(log.kept_page(), 0);
        assert_eq!(flash.open::<8>().unix_s(), begins + 60);
    }
    assert!(flash.open::<8>().unix_s() < 2_000_000_000);
}

#[test]
fn a_grant_and_its_key_are_where_firmware_reads_them() {
    let user = User::new();
    let out = user.argument("42.hex");
    let fixed = "--horizon-at 0x101fe000 --grant-at 0x101fd000 --node-id 42 --from 2026-11-22 --until 2036-11-22 --out";
    let grant = [&words(fixed)[..], &[&out]].concat();
    user.write_key("devices.key", KEY);
    user.run(&[BASE, &grant, &KEYED].concat()).ok();
    let memory = memory_of(&out);
    assert_eq!(memory.len(), PAGES + 32);
    let record = bytes(&memory, 0x101f_d000, 32);
    let word = |at: usize| u32::from_le_bytes(record[4 * at..][..4].try_into().unwrap());
    let lease = Lease::from_words(Randflake, [0, 1, 2, 3].map(word)).unwrap();
    let tick = |unix: u64| unix - 1_730_000_000;
    assert_eq!(lease.node_id(), 42);
    assert_eq!(
        (lease.start(), lease.end()),
        (tick(1_795_305_600), tick(2_110_924_800))
    );
    assert_eq!(word(3), 1, "the version");
    let key = u128::from_be_bytes(record[16..].try_into().unwrap());
    assert_eq!(format!("{key:032x}"), KEY);
    assert_eq!(horizon::<8>(&memory, 0x101f_e000), 1_795_305_600);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&out).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    // Nobody's file is overwritten; without the option there is no key.
    let again = user.run(&[BASE, &grant, &KEYED].concat()).fails(1);
    assert!(again.contains("exists and is not overwritten"), "{again}");
    fs::remove_file(&out).unwrap();
    user.run(&[BASE, &grant].concat()).ok();
    let memory = memory_of(&out);
    assert_eq!(bytes(&memory, 0x101f_d010, 16), [0xff; 16]);
}

/// A device of 53-bit ids has the key that follows from the secret, and a grant that firmware of 64
/// bits refuses.
#[test]
fn grants_of_53_bit_ids_have_their_version_and_key() {
    let user = User::new();
    user.write_key("devices.key", KEY);
    let out = user.argument("42.hex");
    let grant = "--layout randflake53 --horizon-at 0 --grant-at 0x9000 --node-id 42 --from 2026-11-22 --until 2036-11-22";
    let grant: Vec<_> = grant.split(' ').chain(["--out", &out]).collect();
    user.run(&[BASE, &grant, &KEYED].concat()).ok();
    let memory = memory_of(&out);
    let words = [0, 4, 8, 12].map(|at| word(&memory, 0x9000 + at));
    let lease = Lease::from_words(Randflake53, words).unwrap();
    assert_eq!(lease.node_id(), 42);
    let refused = Err(LeaseError::GrantVersion { found: 2 });
    assert_eq!(Lease::from_words(Randflake, words), refused);
    let key = user.run(&["keygen", "--key53", "--key-file", "devices.key"]);
    let written = u128::from_be_bytes(bytes(&memory, 0x9010, 16).try_into().unwrap());
    assert_eq!(format!("{written:032x}\n"), key.ok());

    let check = "lease check --page-size 4096 --horizon-at 0 --grant-at 0x9000 --key-file devices.key --image";
    let check: Vec<_> = check.split(' ').chain([out.as_str(), "--layout"]).collect();
    let said = user.run(&[&check[..], &["randflake53"]].concat()).ok();
    assert!(said.contains("node id 42"), "{said}");
    let said = user.run(&[&check[..], &["randflake"]].concat()).fails(1);
    assert!(said.contains("has version 2"), "{said}");
    fs::remove_file(&out).unwrap();
    // Another layout has no such node id.
    let wrong: Vec<_> = grant
        .iter()
        .map(|it| if *it == "42" { "1024" } else { it })
        .collect();
    let said = user.run(&[BASE, &wrong].concat()).fails(2);
    assert!(said.contains("0 to 1023"), "{said}");
}

const TICKET_KEY: &str = "000102030405060708090a0b0c0d0e0f";
const DEVICE: u64 = 0xd0e5;

fn key() -> [u8; 16] {
    core::array::from_fn(|at| u8::try_from(at).unwrap())
}

/// Someone whose store knows the device.
fn registered() -> User {
    let user = User::new();
    user.run(&["lease", "init"]).ok();
    let told = user
        .run(&["lease", "device", "d0e5", "--counter", "0"])
        .ok();
    assert!(told.contains("owned by nobody"), "{told}");
    user
}

fn ticket(user: &User, more: &[&str]) -> Vec<u8> {
    let arguments = [&["lease", "ticket", "--device", "d0e5"], more].concat();
    let answer = user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments);
    let text = answer.ok();
    let digits = text.trim_end();
    assert_eq!(digits.len(), 64);
    (0..64)
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn a_device_accepts_one_ticket_after_the_other() {
    let user = registered();
    let mut reader = TicketReader::new(DEVICE, 0);
    let tickets = [(); 2].map(|()| ticket(&user, &[]));
    let leases = [0, 1].map(|at| {
        reader
            .accept::<Randflake>(&tickets[at], &key(), None)
            .unwrap()
    });
    assert_ne!(leases[0].node_id(), leases[1].node_id());
    assert_eq!(leases[0].ticks(), 60);
    assert_eq!(reader.last_counter(), 2);
    assert!(
        reader
            .accept::<Randflake>(&tickets[0], &key(), None)
            .is_err()
    );
    let list = user.run(&["lease", "list"]).ok();
    assert!(list.contains("device/000000000000d0e5"), "{list}");
}

#[test]
fn time_and_counter_may_be_given() {
    let user = registered();
    let mut reader = TicketReader::new(DEVICE, 8);
    let bytes = ticket(&user, &["--counter", "9", "--ttl-s", "20"]);
    let lease = reader.accept::<Randflake>(&bytes, &key(), None).unwrap();
    assert_eq!((lease.ticks(), reader.last_counter()), (20, 9));
    // The last one that there is, after what the device itself has reported.
    user.run(&["lease", "device", "d0e5", "--counter", "1073741822"])
        .ok();
    let bytes = ticket(&user, &["--counter", "1073741823"]);
    reader.accept::<Randflake>(&bytes, &key(), None).unwrap();
}

#[test]
fn a_renewed_lease_goes_on_under_the_next_counter() {
    let user = registered();
    let mut reader = TicketReader::new(DEVICE, 0);
    let first = ticket(&user, &["--ttl-s", "10"]);
    let renewed = ticket(&user, &["--ttl-s", "60", "--renew"]);
    let [first, longer] =
        [first, renewed].map(|bytes| reader.accept::<Randflake>(&bytes, &key(), None).unwrap());
    assert_eq!(reader.last_counter(), 2);
    assert_eq!(
        (longer.node_id(), longer.start()),
        (first.node_id(), first.start())
    );
    assert!(longer.end() >= first.end() + 50);
    assert_eq!(
        user.run(&["lease", "list", "--json"]).ok().lines().count(),
        1
    );
}

#[test]
fn a_device_gives_back_what_it_has_not_used() {
    let user = registered();
    let bytes = ticket(&user, &["--ttl-s", "60"]);
    let lease = TicketReader::new(DEVICE, 0)
        .accept::<Randflake>(&bytes, &key(), None)
        .unwrap();
    let release = |horizon: u64| {
        let horizon = (1_730_000_000 + horizon).to_string();
        user.run(&[
            "lease",
            "release",
            "--device",
            "d0e5",
            "--horizon",
            &horizon,
        ])
    };
    assert_eq!(
        release(lease.start()).ok(),
        format!("node id {} is free\n", lease.node_id())
    );
    let again = release(lease.start());
    let nothing = "randflake: device 000000000000d0e5 has no live lease\n";
    assert_eq!(again.stderr, nothing);
    let arguments = ["lease", "ticket", "--device", "d0e5", "--renew"];
    let renewed = user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments);
    assert_eq!(renewed.stderr, nothing);
}

/// A line's images have the node ids and the end of what it has printed.
#[test]
fn images_of_a_line_have_the_printed_grants() {
    let user = User::new();
    user.write_key("devices.key", KEY);
    let store = format!("sqlite:{}", user.argument("line.db"));
    let init = user.run(&["lease", "init", "--max-ttl", "1100d", "--store", &store]);
    assert_eq!(init.status, Some(0), "{init:?}");
    // Its ledger gives three years.
    let until = format!("{}-01-01", year() + 2);
    let fixed = "lease line - --page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --with-key --json --out-dir images \
                 --key-file devices.key";
    let line = [&words(fixed)[..], &["--until", &until, "--store", &store]].concat();
    let devices = objects(&user.run_on(b"device\nd0e5\nD0E6\n 00d0e7 \n", &line).ok());
    assert_eq!(devices.len(), 3);
    for made in &devices {
        let memory = memory_of(user.path(made["image"].as_str().unwrap()));
        assert_eq!(made["node_id"], word(&memory, 0x101f_b000));
        let until_unix_s = 1_730_000_000 + u64::from(word(&memory, 0x101f_b008));
        let end = UNIX_EPOCH + Duration::from_secs(until_unix_s);
        assert_eq!(end, parse_rfc3339(&format!("{until}T00:00:00Z")).unwrap());
        assert!(memory.contains_key(&0x101f_c000));
    }
}

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
struct Flash {
    at: u32,
    bytes: Vec<u8>,
    page_bytes: u32,
    /// How many pages were erased.
    erases: u64,
}

impl Flash {
    /// Flash that others have used before.
    fn used(at: u32, pages: u32, page_bytes: u32) -> Self {
        Self {
            at,
            bytes: vec![0x5a; (pages * page_bytes) as usize],
            page_bytes,
            erases: 0,
        }
    }

    /// Programs an image, as far as it is of this flash.
    fn program(&mut self, image: &BTreeMap<u32, u8>) {
        let bytes = image.range(self.at..);
        for ((_, byte), cell) in bytes.zip(&mut self.bytes) {
            *cell = *byte;
        }
    }

    /// Opens the horizon as firmware does.
    fn open<const SLOT: usize>(&mut self) -> HorizonLog<SLOT> {
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
