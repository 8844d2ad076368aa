//! The commands `randflake lease provision` and `randflake lease ticket`

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ihex::{Reader, Record};
use randflake_std::randflake_core::{Lease, LeaseError, Randflake, Randflake53, TicketReader};

use crate::check::Flash;
use crate::user::{KEY, User};

const BASE: &[&str] = &["lease", "provision", "--page-size", "4096"];
const PAGES: usize = 3 * 4096;
const KEYED: [&str; 3] = ["--with-key", "--key-file", "devices.key"];

/// An image, and what a device finds in it.
pub(crate) fn memory_of(path: impl AsRef<Path>) -> BTreeMap<u32, u8> {
    read(&fs::read_to_string(path).unwrap())
}

/// A number of a grant.
pub(crate) fn word(memory: &BTreeMap<u32, u8>, at: u32) -> u32 {
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
    let grant = [
        "--horizon-at",
        "0x101fe000",
        "--grant-at",
        "0x101fd000",
        "--node-id",
        "42",
        "--from",
        "2026-11-22",
        "--until",
        "2036-11-22",
        "--out",
        &out,
    ];
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

/// A device of 53-bit ids has the key that follows from the secret, and a grant that firmware of 64 bits refuses.
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
