//! A line of devices: what a tired operator does with tables, folders and ledgers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::provision::{memory_of, word};
use crate::user::{Answer, User, objects};

const HORIZON_AT: u32 = 0x101f_c000;
const GRANT_AT: u32 = 0x101f_b000;

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
        let init = ["lease", "init", "--max-ttl", "3660d", "--store", &store];
        let answer = self.user.run(&init);
        assert_eq!(answer.status, Some(0), "{answer:?}");
    }

    fn store(&self, ledger: &str) -> String {
        format!("sqlite:{}", self.user.argument(ledger))
    }

    fn arguments(&self, out: &str, ledger: &str) -> Vec<String> {
        let fixed = "--page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --until 2034-11-22 --with-key --json";
        let mut arguments: Vec<_> = fixed.split(' ').map(str::to_owned).collect();
        let own = [
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
        // 2034-11-22, in seconds since the layout's epoch.
        assert_eq!(word(&memory, GRANT_AT + 8), 2_047_766_400 - 1_730_000_000);
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
fn a_table_is_run_twice_without_harm() {
    let line = Line::new();
    let table = "device\nd0e5\nd0e6\n";
    let first = line.make(table);
    let images = ["d0e5", "d0e6"].map(|device| fs::read(line.image("images", device)).unwrap());
    let second = line.make(table);
    assert_eq!(node_ids(&second), node_ids(&first));
    assert_eq!(is_new(&second), [false; 2]);
    let again = ["d0e5", "d0e6"].map(|device| fs::read(line.image("images", device)).unwrap());
    assert!(images == again, "an image was written a second time");
    let text = {
        let mut command = vec!["lease".to_owned(), "line".to_owned()];
        command.push(line.user.argument("devices.csv"));
        command.extend(line.arguments("images", "line.db"));
        command.retain(|argument| argument != "--json");
        line.user.run(&command).ok()
    };
    let image = line.image("images", "d0e5").display().to_string();
    assert!(
        text.contains(&format!(
            "until 2034-11-22T00:00:00Z, {image}, made before\n"
        )),
        "{text}"
    );
    // More devices in the same table.
    let third = line.make("device\nd0e5\nd0e6\nd0e7\n");
    assert_eq!(is_new(&third), [false, false, true]);
    assert_eq!(node_ids(&third).len(), 3);
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
        "lease provision --device d0e5 --page-size 4096 --horizon-at 0x101fc000 --grant-at 0x101fb000 --until 2034-11-22 \
         --out {out} --store {store}"
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
fn a_ledger_that_is_not_there_is_not_made() {
    let line = Line::new();
    let said = line.run("device\nd0e5\n", "images", "typo.db").fails(1);
    assert!(
        said.contains("restore it: a new one would give them a second time"),
        "{said}"
    );
    assert!(said.contains("--max-ttl 3660d"), "{said}");
    assert!(!line.user.path("typo.db").exists() && !line.user.path("images").exists());
}

#[test]
fn a_ledger_of_another_line_or_an_older_one_is_refused() {
    let line = Line::new();
    let older = line.user.path("older.db");
    line.make("device\nd0e5\n");
    fs::copy(line.user.path("line.db"), &older).unwrap();
    line.make("device\nd0e6\n");
    // A new one beside the images of the first.
    line.init("second.db");
    let said = line.run("device\nd0e9\n", "images", "second.db").fails(1);
    assert!(said.contains("which the ledger does not know"), "{said}");
    // The backup put back over the newest one.
    for end in ["-wal", "-shm"] {
        drop(fs::remove_file(line.user.path(&format!("line.db{end}"))));
    }
    fs::copy(&older, line.user.path("line.db")).unwrap();
    let said = line.run("device\nd0e9\n", "images", "line.db").fails(1);
    assert!(said.contains("which the ledger does not know"), "{said}");
    // Without the images nothing shows it but the store's own mark.
    let said = line.run("device\nd0e9\n", "empty", "line.db").fails(1);
    assert!(
        said.contains("the ledger may have forgotten devices"),
        "{said}"
    );
    assert!(!line.image("empty", "d0e9").exists());
}

#[test]
fn a_copy_of_the_ledger_gives_nothing() {
    let line = Line::new();
    line.make("device\nd0e5\n");
    // On the second station: another folder, and the original is not there.
    let station = line.user.path("station");
    fs::create_dir(&station).unwrap();
    fs::copy(line.user.path("line.db"), station.join("line.db")).unwrap();
    let answer = line.run("device\nd0e6\n", "other", "station/line.db");
    let said = answer.fails(1);
    assert!(said.contains("line.db"), "{said}");
    assert!(!line.image("other", "d0e6").exists());
    for end in ["", "-wal", "-shm", ".lock"] {
        drop(fs::remove_file(line.user.path(&format!("line.db{end}"))));
    }
    let said = line
        .run("device\nd0e6\n", "other", "station/line.db")
        .fails(1);
    assert!(
        said.contains("it is a copy, or was restored or moved"),
        "{said}"
    );
    assert!(!line.image("other", "d0e6").exists());
}

/// What stands in the folder and in the ledger when a run is cut at each of its steps, and what the next one makes of it.
#[test]
fn a_run_that_was_cut_goes_on_with_the_same_node_id() {
    let line = Line::new();
    let begun = |device: &str| {
        line.user
            .path("images")
            .join(format!(".{device:0>16}.begun"))
    };
    let leases = || {
        let list = ["lease", "list", "--json", "--store", &line.store("line.db")];
        objects(&line.user.run(&list).ok())
    };
    let made = line.make("device\nd0e5\n");
    let token = "000102030405060708090a0b0c0d0e0f";

    // Cut in the first write: nothing was asked for yet.
    fs::write(begun("d0e6"), "").unwrap();
    assert_eq!(is_new(&line.make("device\nd0e6\n")), [true]);
    // Cut before the lease.
    fs::write(begun("d0e7"), format!("{token}\n")).unwrap();
    assert_eq!(is_new(&line.make("device\nd0e7\n")), [true]);
    assert_eq!(leases().len(), 3, "one for each device");

    // Cut before the image: its device is in the ledger, the token is that of its lease.
    let image = line.image("images", "d0e7");
    fs::remove_file(&image).unwrap();
    fs::write(begun("d0e7"), format!("{token}\n")).unwrap();
    fs::write(line.user.path("images/.000000000000d0e7.draft"), ":0").unwrap();
    let again = line.make("device\nd0e5\nd0e7\n");
    assert_eq!(is_new(&again), [false, true]);
    assert_eq!(node_ids(&again[..1]), node_ids(&made));
    assert_eq!(leases().len(), 3, "no second node id");
    assert!(image.exists() && !begun("d0e7").exists());
    assert!(!line.user.path("images/.000000000000d0e7.draft").exists());

    // Begun here, and made at another station since.
    fs::write(begun("d0e9"), format!("{token}\n")).unwrap();
    line.run("device\nd0e9\n", "other", "line.db").ok();
    let said = refusals(&line.run("device\nd0e9\n", "images", "line.db"), 1);
    assert!(said.contains("made before"), "{said}");
    assert!(!begun("d0e9").exists() && !line.image("images", "d0e9").exists());
}

/// A run is killed at whatever it does, again and again.
#[test]
fn a_line_that_is_killed_ends_with_one_node_id_for_each_device() {
    use std::io::{BufRead, BufReader};

    const DEVICES: usize = 40;
    let line = Line::new();
    let devices: Vec<_> = (0..DEVICES).map(|device| format!("{device:x}")).collect();
    let table = format!("device\n{}\n", devices.join("\n"));
    fs::write(line.user.path("devices.csv"), &table).unwrap();
    let mut command = vec!["lease".to_owned(), "line".to_owned()];
    command.push(line.user.argument("devices.csv"));
    command.extend(line.arguments("images", "line.db"));
    for killed_after in (0..DEVICES).step_by(3) {
        let mut child = line.user.start(&command);
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(answers.by_ref().take(killed_after).count(), killed_after);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let made = line.make(&table);
    assert_eq!(node_ids(&made).len(), DEVICES);
    let list = [
        "lease",
        "list",
        "--all",
        "--json",
        "--store",
        &line.store("line.db"),
    ];
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
        command.extend(line.arguments(&format!("station{station}"), "line.db"));
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
}

#[test]
fn a_folder_is_of_one_run_at_a_time() {
    let line = Line::new();
    line.make("device\nd0e5\n");
    let lock = fs::File::open(line.user.path("images/.lock")).unwrap();
    lock.lock().unwrap();
    let said = line.run("device\nd0e6\n", "images", "line.db").fails(1);
    assert!(said.contains("another run writes to "), "{said}");
}

#[test]
fn rows_are_handled_as_they_come() {
    use std::io::{BufRead, BufReader, Write};

    let line = Line::new();
    let mut command = vec!["lease".to_owned(), "line".to_owned(), "-".to_owned()];
    command.extend(line.arguments("images", "line.db"));
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
        assert!(line.image("images", device).exists());
    }
    drop(scanner);
    assert!(child.wait().unwrap().success());
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

#[test]
fn what_makes_no_image_leases_no_node_id() {
    let line = Line::new();
    let table = line.user.argument("devices.csv");
    fs::write(&table, "device\nd0e5\n").unwrap();
    for (options, said) in [
        ("--until 2024-11-22", "--until must be after --from"),
        ("--until 2050-11-22", "up to 3660 are allowed"),
        ("--horizon-at 1", "is not where a page"),
        ("--grant-at 0x101fc010", "is over the grant"),
    ] {
        let (name, value) = options.split_once(' ').unwrap();
        let mut command = vec!["lease".to_owned(), "line".to_owned(), table.clone()];
        command.extend(line.arguments("images", "line.db"));
        let place = command
            .iter()
            .position(|argument| argument == name)
            .unwrap();
        command[place + 1] = value.to_owned();
        let told = line.user.run(&command).fails(2);
        assert!(told.contains(said), "{options}: {told}");
    }
    // Another key than the ledger's.
    line.make("device\nd0e6\n");
    fs::remove_file(line.user.path("devices.key")).unwrap();
    let key = line.user.argument("devices.key");
    line.user.run(&["keygen", "--out", &key]).ok();
    let said = line.run("device\nd0e7\n", "images", "line.db").fails(1);
    assert!(said.contains("the secret of check value "), "{said}");
    assert!(!line.image("images", "d0e7").exists());
    let store = line.store("line.db");
    let leases = line
        .user
        .run(&["lease", "list", "--json", "--store", &store])
        .ok();
    assert_eq!(leases.lines().count(), 1);
}
