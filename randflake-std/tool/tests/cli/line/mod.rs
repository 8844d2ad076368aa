//! A line of devices: what a tired operator does with tables, folders and ledgers.

mod ledgers;
mod runs;

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use humantime::parse_rfc3339;
use serde_json::Value;

use crate::provision::{memory_of, word};
use crate::user::{Answer, User, objects, year};

const HORIZON_AT: u32 = 0x101f_c000;
const GRANT_AT: u32 = 0x101f_b000;

/// A day that grants may last until: its ledger gives three years.
fn until() -> String {
    format!("{}-01-01", year() + 2)
}

/// A factory with a ledger in a file of this machine.
struct Line {
    user: User,
}

impl Line {
    fn new() -> Self {
        let line = Self { user: User::new() };
        let key = line.user.argument("devices.key");
        line.user.run(&["keygen", "--out", &key]).ok();
        line.init("line.db");
        line
    }

    fn init(&self, ledger: &str) {
        let store = self.store(ledger);
        let init = ["lease", "init", "--max-ttl", "1100d", "--store", &store];
        let answer = self.user.run(&init);
        assert_eq!(answer.status, Some(0), "{answer:?}");
    }

    fn store(&self, ledger: &str) -> String {
        format!("sqlite:{}", self.user.argument(ledger))
    }

    fn arguments(&self, out: &str, ledger: &str) -> Vec<String> {
        let fixed =
            "--page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --with-key --json";
        let mut arguments: Vec<_> = fixed.split(' ').map(str::to_owned).collect();
        let own = [
            ("--until", until()),
            ("--out-dir", self.user.argument(out)),
            ("--store", self.store(ledger)),
            ("--key-file", self.user.argument("devices.key")),
        ];
        arguments.extend(
            own.into_iter()
                .flat_map(|(name, value)| [name.to_owned(), value]),
        );
        arguments
    }

    /// Runs a table, as a file.
    fn run(&self, table: &str, out: &str, ledger: &str) -> Answer {
        let path = self.user.argument("devices.csv");
        fs::write(&path, table).unwrap();
        let mut command = vec!["lease".to_owned(), "line".to_owned(), path];
        command.extend(self.arguments(out, ledger));
        self.user.run(&command)
    }

    fn make(&self, table: &str) -> Vec<Value> {
        objects(&self.run(table, "images", "line.db").ok())
    }

    fn image(&self, out: &str, device: &str) -> std::path::PathBuf {
        self.user.path(out).join(format!("{device:0>16}.hex"))
    }
}

fn node_ids(devices: &[Value]) -> BTreeSet<u64> {
    devices
        .iter()
        .map(|it| it["node_id"].as_u64().unwrap())
        .collect()
}

fn is_new(devices: &[Value]) -> Vec<bool> {
    devices
        .iter()
        .map(|it| it["is_new"].as_bool().unwrap())
        .collect()
}

/// Refused for some devices, each with a reason of its own: those reasons, and the last line.
#[track_caller]
fn refusals(answer: &Answer, count: usize) -> String {
    assert_eq!(answer.status, Some(1), "{answer:?}");
    let said: Vec<_> = answer.stderr.lines().collect();
    assert_eq!(said.len(), count + 1, "{answer:?}");
    assert!(said[count].contains(&format!("{count} of ")), "{answer:?}");
    answer.stderr.clone()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn each_row_becomes_an_image_with_a_node_id_of_its_own() {
    let line = Line::new();
    let devices = line.make("device\nd0e5\nD0E6\n 00d0e7 \n");
    assert_eq!(node_ids(&devices).len(), 3);
    assert_eq!(is_new(&devices), [true; 3]);
    for made in &devices {
        let image = made["image"].as_str().unwrap();
        let memory = memory_of(image);
        assert_eq!(
            u64::from(word(&memory, GRANT_AT)),
            made["node_id"].as_u64().unwrap()
        );
        let until_unix_s = 1_730_000_000 + u64::from(word(&memory, GRANT_AT + 8));
        let until_unix = UNIX_EPOCH + Duration::from_secs(until_unix_s);
        assert_eq!(
            until_unix,
            parse_rfc3339(&format!("{}T00:00:00Z", until())).unwrap()
        );
        assert!(memory.contains_key(&HORIZON_AT));
    }
    let images: Vec<_> = ["d0e5", "d0e6", "d0e7"]
        .map(|device| format!("{device:0>16}.hex"))
        .into();
    let mut expected: BTreeSet<_> = images.into_iter().collect();
    expected.insert(".lock".to_owned());
    assert_eq!(names(&line.user.path("images")), expected);
    // The leases last as long as the grants, for all to see.
    let store = line.store("line.db");
    let leases = objects(
        &line
            .user
            .run(&["lease", "list", "--json", "--store", &store])
            .ok(),
    );
    assert_eq!(leases.len(), 3);
    assert!(
        leases
            .iter()
            .all(|lease| lease["holder"].as_str().unwrap().starts_with("device/"))
    );
}

#[test]
fn a_device_in_two_tables_gets_one_image() {
    let line = Line::new();
    line.make("device\nd0e5\n");
    // Into another folder, as the second station has one.
    let answer = line.run("device\nd0e5\nd0e6\n", "other", "line.db");
    let said = refusals(&answer, 1);
    assert!(
        said.contains("line 2: device 000000000000d0e5: its image was made before, with node id "),
        "{said}"
    );
    assert!(
        said.contains("lease provision --device 000000000000d0e5"),
        "{said}"
    );
    assert!(!line.image("other", "d0e5").exists());
    assert_eq!(objects(&answer.stdout).len(), 1, "the other one is made");
    // Once its image was taken away, too.
    fs::remove_file(line.image("images", "d0e5")).unwrap();
    refusals(&line.run("device\nd0e5\n", "images", "line.db"), 1);
    // Registered for tickets.
    let register = [
        "lease",
        "device",
        "d0ea",
        "--counter",
        "0",
        "--store",
        &line.store("line.db"),
    ];
    line.user.run(&register).ok();
    let said = refusals(&line.run("device\nd0ea\n", "images", "line.db"), 1);
    assert!(
        said.contains("it is registered already, by another run or for tickets"),
        "{said}"
    );
    // In one table.
    let said = line.run("device\nd0e8\nd0e9\n00D0E8\n", "images", "line.db");
    assert!(
        said.stderr
            .contains("line 4: device 000000000000d0e8 stands in line 2, too"),
        "{said:?}"
    );
    assert_eq!(said.status, Some(2));
}

#[test]
fn a_device_that_lost_its_horizon_gets_another_node_id() {
    let line = Line::new();
    let first = line.make("device\nd0e5\n");
    let out = line.user.argument("again.hex");
    let store = line.store("line.db");
    let again = format!(
        "lease provision --device d0e5 --page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --until {} \
         --out {out} --store {store}",
        until()
    );
    let again: Vec<_> = again.split(' ').collect();
    line.user.run(&again).ok();
    let node_id = word(&memory_of(&out), GRANT_AT);
    assert!(!node_ids(&first).contains(&node_id.into()));
    // The first image must not be programmed any more.
    let said = refusals(&line.run("device\nd0e5\n", "images", "line.db"), 1);
    assert!(said.contains("never program it again"), "{said}");
    // Nothing is leased for a file that is there.
    let leases = || {
        line.user
            .run(&["lease", "list", "--store", &store])
            .ok()
            .lines()
            .count()
    };
    let before = leases();
    line.user.run(&again).fails(1);
    assert_eq!(leases(), before);
}

#[test]
fn chosen_node_ids_are_given_once() {
    let line = Line::new();
    let devices = line.make("device,node_id\nd0e5,42\nd0e6,\nd0e7,7\n");
    assert!(node_ids(&devices).is_superset(&[7, 42].into()));
    let answer = line.run(
        "device,node_id\nd0e8,42\nd0e7,8\nd0e9,9\n",
        "images",
        "line.db",
    );
    let said = refusals(&answer, 2);
    assert!(
        said.contains("node id 42 is that of device/000000000000d0e5"),
        "{said}"
    );
    assert!(said.contains("it has node id 7 in "), "{said}");
    assert_eq!(node_ids(&objects(&answer.stdout)), [9].into());
    // With a node id that is free it is made.
    assert_eq!(
        node_ids(&line.make("device,node_id\nd0e8,43\n")),
        [43].into()
    );
}

#[test]
fn a_wrong_table_is_said_with_its_line() {
    let line = Line::new();
    let columns =
        "the first line has the names of the columns, separated by commas: device, and node_id if";
    for (table, said) in [
        ("", columns),
        ("d0e5\nd0e6\n", "line 1: \"d0e5\": the first line has"),
        (
            "device;node_id\nd0e5;1\n",
            "line 1: \"device;node_id\": the first line has",
        ),
        ("device,node-id\nd0e5,1\n", "line 1: \"node-id\""),
        ("device,device\nd0e5,d0e6\n", "each once"),
        ("device\n", "the table has no devices"),
        (
            "device\n1.23E+10\n",
            "line 2: device \"1.23E+10\": 1 to 16 hex digits are allowed; a spreadsheet",
        ),
        ("device,node_id\nd0e5,131072\n", "0 to 131071 are allowed"),
        (
            "device,node_id\nd0e5,x\n",
            "line 2: node_id \"x\": 0 to 4294967295 are allowed, in digits only",
        ),
        (
            "device,node_id\nd0e5\n",
            "line 2: it has 1 columns, and the first line 2",
        ),
    ] {
        let told = line.run(table, "images", "line.db").fails(2);
        assert!(told.contains(said), "{table:?}: {told}");
    }
    let said = line
        .run(&"d0e5,".repeat(100_000), "images", "line.db")
        .fails(1);
    assert!(
        said.contains("the table: a line of over 65536 bytes"),
        "{said}"
    );
    // As a spreadsheet writes it.
    assert_eq!(
        line.make("\u{feff}device,node_id\r\n\"d0e5\",\"17\"\r\n\r\n")
            .len(),
        1
    );
}
