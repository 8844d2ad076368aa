//! A line of devices: images, and runs that are killed, or at work at once

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
        let store = line.store();
        let init = ["lease", "init", "--max-ttl", "1100d", "--store", &store];
        let answer = line.user.run(&init);
        assert_eq!(answer.status, Some(0), "{answer:?}");
        line
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.user.argument("line.db"))
    }

    fn arguments(&self, out: &str) -> Vec<String> {
        let fixed =
            "--page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --with-key --json";
        let mut arguments: Vec<_> = fixed.split(' ').map(str::to_owned).collect();
        let own = [
            ("--until", until()),
            ("--out-dir", self.user.argument(out)),
            ("--store", self.store()),
            ("--key-file", self.user.argument("devices.key")),
        ];
        arguments.extend(
            own.into_iter()
                .flat_map(|(name, value)| [name.to_owned(), value]),
        );
        arguments
    }

    /// Runs a table, as a file.
    fn run(&self, table: &str) -> Answer {
        let path = self.user.argument("devices.csv");
        fs::write(&path, table).unwrap();
        let mut command = vec!["lease".to_owned(), "line".to_owned(), path];
        command.extend(self.arguments("images"));
        self.user.run(&command)
    }

    fn make(&self, table: &str) -> Vec<Value> {
        objects(&self.run(table).ok())
    }

    fn image(&self, device: &str) -> std::path::PathBuf {
        self.user.path("images").join(format!("{device:0>16}.hex"))
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

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn each_row_becomes_an_image_with_its_own_node_id() {
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
    let store = line.store();
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

/// A run is killed at whatever it does, again and again.
#[test]
fn killed_lines_end_with_one_node_id_per_device() {
    use std::io::{BufRead, BufReader};

    const DEVICES: usize = 40;
    let line = Line::new();
    let devices: Vec<_> = (0..DEVICES).map(|device| format!("{device:x}")).collect();
    let table = format!("device\n{}\n", devices.join("\n"));
    fs::write(line.user.path("devices.csv"), &table).unwrap();
    let mut command = vec!["lease".to_owned(), "line".to_owned()];
    command.push(line.user.argument("devices.csv"));
    command.extend(line.arguments("images"));
    for killed_after in (0..DEVICES).step_by(3) {
        let mut child = line.user.start(&command);
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(answers.by_ref().take(killed_after).count(), killed_after);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let made = line.make(&table);
    assert_eq!(node_ids(&made).len(), DEVICES);
    let list = ["lease", "list", "--all", "--json", "--store", &line.store()];
    let leases = objects(&line.user.run(&list).ok());
    assert_eq!(leases.len(), DEVICES, "a device has two node ids");
    assert_eq!(
        names(&line.user.path("images")).len(),
        DEVICES + 1,
        "only images and the lock"
    );
}

#[test]
fn stations_at_once_give_each_device_one_image() {
    const STATIONS: usize = 4;
    let line = Line::new();
    let devices = "0,1,2,3,4,5,6,7,8,9,a,b".replace(',', "\n");
    fs::write(
        line.user.path("devices.csv"),
        format!("device\n{devices}\n"),
    )
    .unwrap();
    let run = |station: usize| {
        let path = line.user.argument("devices.csv");
        let mut command = vec!["lease".to_owned(), "line".to_owned(), path];
        command.extend(line.arguments(&format!("station{station}")));
        line.user.run(&command)
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let stations: Vec<_> = (0..STATIONS)
            .map(|station| scope.spawn(move || run(station)))
            .collect();
        stations
            .into_iter()
            .map(|station| station.join().unwrap())
            .collect()
    });
    let made: Vec<_> = answers
        .iter()
        .flat_map(|answer| objects(&answer.stdout))
        .collect();
    assert_eq!(made.len(), 12, "{answers:?}");
    assert_eq!(node_ids(&made).len(), 12);
    let devices: BTreeSet<_> = made.iter().map(|it| it["device"].to_string()).collect();
    assert_eq!(devices.len(), 12);
    // What a station has made it goes on to know, also where another one leased for the device in vain.
    for (station, answer) in answers.iter().enumerate() {
        let made = objects(&answer.stdout);
        let again = objects(&run(station).stdout);
        assert_eq!(node_ids(&again), node_ids(&made));
        assert_eq!(is_new(&again), vec![false; made.len()]);
    }
}

#[test]
fn a_folder_is_of_one_run_at_a_time() {
    let line = Line::new();
    line.make("device\nd0e5\n");
    let lock = fs::File::open(line.user.path("images/.lock")).unwrap();
    lock.lock().unwrap();
    let said = line.run("device\nd0e6\n").fails(1);
    assert!(said.contains("another run writes to "), "{said}");
}

#[test]
fn rows_are_handled_as_they_come() {
    use std::io::{BufRead, BufReader, Write};

    let line = Line::new();
    let mut command = vec!["lease".to_owned(), "line".to_owned(), "-".to_owned()];
    command.extend(line.arguments("images"));
    let mut child = line.user.start(&command);
    let mut scanner = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    scanner.write_all(b"device\r\n").unwrap();
    for device in ["d0e5", "d0e6"] {
        scanner
            .write_all(format!("{device}\r\n").as_bytes())
            .unwrap();
        let made = objects(&answers.next().unwrap().unwrap());
        assert!(made[0]["device"].as_str().unwrap().ends_with(device));
        assert!(line.image(device).exists());
    }
    drop(scanner);
    assert!(child.wait().unwrap().success());
}
