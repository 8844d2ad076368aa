//! The command `randflake lease provision`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ihex::{Reader, Record};
use randflake_std::randflake_core::{HorizonRecord, Lease, Randflake};

use crate::user::{KEY, User};

const BASE: &[&str] = &["lease", "provision", "--page-size", "4096"];
const PAGES: usize = 2 * 4096;
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

fn horizon(pages: &[u8]) -> u32 {
    let words =
        [&pages[..4], &pages[4..8]].map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    assert!(pages[8..].iter().all(|byte| *byte == 0xff), "erased");
    HorizonRecord::from_words(words).unwrap().unix_s()
}

#[test]
fn the_pages_of_a_horizon_are_what_a_device_opens() {
    let user = User::new();
    let run = |more: &[&str]| user.run(&[BASE, more].concat());
    let out = user.argument("horizon.bin");
    let from = ["--from", "2026-11-22T09:30:00Z", "--horizon-at", "0"];
    let said = run(&[&from[..], &["--format", "bin", "--out", &out]].concat()).ok();
    assert_eq!(
        said,
        "no id will be of a time before 2026-11-22T09:30:00Z\n"
    );
    let pages = fs::read(&out).unwrap();
    assert_eq!((pages.len(), horizon(&pages)), (PAGES, 1_795_339_800));

    // At an address, with every page: an older record in one of them would win.
    let out = user.argument("horizon.hex");
    let at = [
        "--from",
        "2026-11-22T09:30:00Z",
        "--horizon-at",
        "0x1000f000",
    ];
    run(&[&at[..], &["--out", &out]].concat()).ok();
    let memory = memory_of(&out);
    assert_eq!(memory.len(), PAGES);
    assert_eq!(bytes(&memory, 0x1000_f000, PAGES), pages);

    // Twice, for flash whose words are written once.
    let out = user.argument("twice.hex");
    let twice = ["--write-once", "--slot-size", "16", "--out", &out];
    run(&[&at[..], &twice].concat()).ok();
    let memory = memory_of(&out);
    let slot = bytes(&memory, 0x1000_f000, 16);
    assert_eq!(slot[..], [&pages[..8], &[0xff; 8]].concat());
    assert_eq!(bytes(&memory, 0x1000_f010, 16), slot);

    // From now on, unless a date is given.
    let out = user.argument("now.hex");
    run(&["--horizon-at", "0", "--out", &out]).ok();
    assert!(horizon(&bytes(&memory_of(&out), 0, 8)) > 1_795_339_800);
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
    fs::write(user.path("devices.key"), KEY).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(user.path("devices.key"), fs::Permissions::from_mode(0o600)).unwrap();
    }
    user.run(&[BASE, &grant, &KEYED].concat()).ok();
    let memory = memory_of(&out);
    assert_eq!(memory.len(), PAGES + 32);
    let record = bytes(&memory, 0x101f_d000, 32);
    let word = |at: usize| u32::from_le_bytes(record[4 * at..][..4].try_into().unwrap());
    let lease = Lease::new(Randflake, word(0), word(1).into(), word(2).into()).unwrap();
    let tick = |unix: u64| unix - 1_730_000_000;
    assert_eq!(lease.node_id(), 42);
    assert_eq!(
        (lease.start(), lease.end()),
        (tick(1_795_305_600), tick(2_110_924_800))
    );
    assert_eq!(word(3), u32::MAX);
    let key = u128::from_be_bytes(record[16..].try_into().unwrap());
    assert_eq!(format!("{key:032x}"), KEY);
    assert_eq!(horizon(&bytes(&memory, 0x101f_e000, 8)), 1_795_305_600);
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

/// The secret of the user is that of servers: a device that is opened gives its own away.
#[test]
fn no_secret_is_taken_that_was_not_named() {
    let user = User::new();
    assert_eq!(user.run(&["generate"]).status, Some(0), "it makes one");
    let out = user.argument("42.hex");
    let grant = "--horizon-at 0 --grant-at 0x9000 --node-id 42 --until 2036-11-22";
    let grant: Vec<_> = grant.split(' ').chain(["--out", &out]).collect();
    for refused in [
        user.run(&[BASE, &grant, &["--with-key"]].concat()),
        user.run_keyed(&[BASE, &grant, &["--with-key"]].concat()),
    ] {
        let said = refused.fails(2);
        assert!(said.contains("with --key-file FILE"), "{said}");
    }
    let said = user.run(&[BASE, &grant, &KEYED[1..]].concat()).fails(2);
    assert!(said.contains("only --with-key"), "{said}");
    assert!(!user.path("42.hex").exists());
}

const REFUSED: &[(&[&str], &str)] = &[
    (
        &["--horizon-at", "0x800"],
        "--horizon-at 0x800 is not where a page of 4096 bytes begins",
    ),
    (
        &["--horizon-at", "0x100000000"],
        "0x0 to 0xffffffff, are allowed",
    ),
    (
        &["--horizon-at", "0xfffff000"],
        "the horizon at 0xfffff000 ends beyond 0xffffffff",
    ),
    (
        &["--horizon-at", "0", "--slot-size", "12"],
        "--slot-size 12 does not go into --page-size 4096",
    ),
    (
        &["--horizon-at", "0", "--from", "tomorrow"],
        "a date such as 2036-11-22",
    ),
    (
        &["--horizon-at", "0", "--from", "2107-01-01"],
        "to 2106-02-07T06:28:12Z is allowed",
    ),
    (&["--horizon-at", "0", "--node-id", "1"], "--until <DATE>"),
    (&["--horizon-at", "0", "--with-key"], "--grant-at <ADDRESS>"),
    (
        &[
            "--horizon-at",
            "0",
            "--node-id",
            "131072",
            "--until",
            "2036-01-01",
            "--grant-at",
            "0x9000",
        ],
        "0 to 131071 are allowed",
    ),
    (
        &[
            "--horizon-at",
            "0",
            "--node-id",
            "1",
            "--until",
            "2020-01-01",
            "--grant-at",
            "0x9000",
        ],
        "until 2020-01-01T00:00:00Z: --until must be after --from, and the layout has the times from 2024-10-27",
    ),
    (
        &[
            "--horizon-at",
            "0",
            "--node-id",
            "1",
            "--until",
            "2036-01-01",
            "--grant-at",
            "0x1fff",
        ],
        "the horizon at 0x0 is over the grant at 0x1fff",
    ),
    (
        &[
            "--horizon-at",
            "0",
            "--node-id",
            "1",
            "--until",
            "2036-01-01",
            "--grant-at",
            "0x9000",
            "--format",
            "bin",
        ],
        "--format bin has no addresses",
    ),
    (
        &[
            "--horizon-at",
            "0",
            "--node-id",
            "1",
            "--until",
            "2036-01-01",
            "--grant-at",
            "0x9000",
            "--layout",
            "snowflake",
        ],
        "the layout's ticks have over 32 bits",
    ),
];

#[test]
fn what_makes_no_image_is_said_and_nothing_is_written() {
    let user = User::new();
    let out = user.argument("no.hex");
    for (arguments, said) in REFUSED {
        let refused = user.run(&[BASE, *arguments, &["--out", &out]].concat());
        assert!(refused.stderr.contains(*said), "{said}: {}", refused.stderr);
        assert!(!user.path("no.hex").exists());
    }
}

/// A device that is provisioned once more still refuses the tickets that it has had.
#[test]
fn a_device_is_registered_once() {
    let user = User::new();
    let run = |out: &str, more: &[&str]| {
        let out = user.argument(out);
        let device = ["--horizon-at", "0", "--device", "d0e5", "--out", &out];
        user.run(&[BASE, &device, more].concat())
    };
    // No namespace, and no image of a device that gets no tickets.
    run("first.hex", &[]).fails(1);
    assert!(!user.path("first.hex").exists());
    user.run(&["lease", "init"]).ok();
    run("first.hex", &["--owner", "meters"]).ok();
    let told = || user.run(&["lease", "device", "d0e5"]).ok();
    assert!(told().ends_with("owned by meters; its last ticket has counter 0\n"));
    user.run(&["lease", "device", "d0e5", "--counter", "7"])
        .ok();
    run("second.hex", &[]).ok();
    assert!(told().ends_with("owned by meters; its last ticket has counter 7\n"));
}
