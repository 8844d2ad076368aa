//! `lease ticket`

use randflake_core::{Randflake, TicketReader};

use crate::user::User;

const TICKET_KEY: &str = "000102030405060708090a0b0c0d0e0f";
const DEVICE: u64 = 0xd0e5;

fn key() -> [u8; 16] {
    core::array::from_fn(|at| u8::try_from(at).unwrap())
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
    let user = User::new();
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

/// What a link leads to is neither emptied nor written.
#[cfg(unix)]
#[test]
fn a_link_in_the_tickets_folder_is_refused() {
    use std::fs;

    let user = User::new();
    ticket(&user, &[]);
    let victim = user.path("victim");
    for name in ["lock", "000000000000d0e5", "000000000000d0e5.new"] {
        fs::write(&victim, "7\n").unwrap();
        let path = user.state("tickets").join(name);
        _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let arguments = ["lease", "ticket", "--device", "d0e5"];
        let answer = user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments);
        let said = format!("tickets/{name} is a symbolic link");
        assert!(answer.stderr.contains(&said), "{}", answer.stderr);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "7\n");
        fs::remove_file(path).unwrap();
    }
    // What is there is kept: only a regular lock file is locked, never emptied.
    fs::write(user.state("tickets/lock"), "kept").unwrap();
    ticket(&user, &[]);
    assert_eq!(
        fs::read_to_string(user.state("tickets/lock")).unwrap(),
        "kept"
    );
}

#[test]
fn time_and_counter_may_be_given() {
    let user = User::new();
    let mut reader = TicketReader::new(DEVICE, 8);
    let bytes = ticket(&user, &["--counter", "9", "--ttl-s", "20"]);
    let lease = reader.accept::<Randflake>(&bytes, &key(), None).unwrap();
    assert_eq!((lease.ticks(), reader.last_counter()), (20, 9));
}

/// The device could not keep it.
#[test]
fn the_last_counter_is_refused_and_nothing_is_leased() {
    let user = User::new();
    let run = |more: &[&str]| {
        let arguments = [&["lease", "ticket", "--device", "d0e5"], more].concat();
        user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments)
    };
    for counter in ["0", "1073741824", "4294967295"] {
        let refused = run(&["--counter", counter]);
        assert!(refused.stderr.contains("1 to 1073741823 are allowed"));
    }
    assert!(!user.state("leases.db").exists());

    let mut reader = TicketReader::new(DEVICE, 0);
    let bytes = ticket(&user, &["--counter", "1073741823"]);
    reader.accept::<Randflake>(&bytes, &key(), None).unwrap();
    std::fs::create_dir_all(user.state("tickets")).unwrap();
    let kept = user.state("tickets/000000000000d0e5");
    std::fs::write(&kept, "1073741823\n").unwrap();
    let refused = run(&[]);
    let said = "it has reached its end, 1073741823";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}

#[test]
fn a_renewed_lease_goes_on_under_the_next_counter() {
    let user = User::new();
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
    let user = User::new();
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
    let nothing = "randflake: device 000000000000d0e5 has no lease that is not over\n";
    assert_eq!(again.stderr, nothing);
    let arguments = ["lease", "ticket", "--device", "d0e5", "--renew"];
    let renewed = user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments);
    assert_eq!(renewed.stderr, nothing);

    for (wrong, why) in [
        (&["--device", "d0e5"][..], "--horizon <SECONDS>"),
        (&["--horizon", "5"], "--device <HEX>"),
        (
            &["7", "--device", "d0e5", "--horizon", "5"],
            "cannot be used with",
        ),
        (
            &["--device", "d0e5", "--horizon", "4294967296"],
            "0 to 4294967295",
        ),
    ] {
        let refused = user.run(&[&["lease", "release"], wrong].concat());
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_leased() {
    let user = User::new();
    let without_key = user.run(&["lease", "ticket", "--device", "d0e5"]);
    assert_eq!(
        without_key.stderr,
        "randflake: no key: set RANDFLAKE_TICKET_KEY or give --ticket-key-file FILE\n"
    );
    let no_device = user.run(&["lease", "ticket", "--device", "+5"]);
    assert!(no_device.stderr.contains("1 to 16 hex digits are allowed"));
    assert!(!user.state("leases.db").exists());
}
