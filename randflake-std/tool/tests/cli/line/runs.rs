//! Runs that come twice, are cut, or are at work at once.

use std::collections::BTreeSet;
use std::fs;

use super::{Line, is_new, names, node_ids, refusals, until};
use crate::user::objects;

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
            "until {}T00:00:00Z, {image}, made before\n",
            until()
        )),
        "{text}"
    );
    // More devices in the same table.
    let third = line.make("device\nd0e5\nd0e6\nd0e7\n");
    assert_eq!(is_new(&third), [false, false, true]);
    assert_eq!(node_ids(&third).len(), 3);
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

    // Cut in the first write: nothing was asked for yet, and beginnings of tokens may be equal.
    for (device, written) in [("d0e3", ""), ("d0e4", "0"), ("d0e6", "0")] {
        fs::write(begun(device), written).unwrap();
    }
    let cut = line.make("device\nd0e3\nd0e4\nd0e6\n");
    assert_eq!((is_new(&cut), node_ids(&cut).len()), (vec![true; 3], 3));
    // Cut before the lease.
    fs::write(begun("d0e7"), format!("{token}\n")).unwrap();
    assert_eq!(is_new(&line.make("device\nd0e7\n")), [true]);
    assert_eq!(leases().len(), 5, "one for each device");

    // Cut before the image: its device is in the ledger, the token is that of its lease.
    let image = line.image("images", "d0e7");
    fs::remove_file(&image).unwrap();
    fs::write(begun("d0e7"), format!("{token}\n")).unwrap();
    fs::write(line.user.path("images/.000000000000d0e7.draft"), ":0").unwrap();
    let again = line.make("device\nd0e5\nd0e7\n");
    assert_eq!(is_new(&again), [false, true]);
    assert_eq!(node_ids(&again[..1]), node_ids(&made));
    assert_eq!(leases().len(), 5, "no second node id");
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
