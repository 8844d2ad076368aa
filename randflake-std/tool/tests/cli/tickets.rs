//! The command `randflake lease ticket`.

use randflake_std::randflake_core::{Randflake, TicketReader};

use crate::user::User;

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
}

/// A device that accepts a counter refuses all below it, for good.
#[test]
fn a_counter_rises_by_a_step_and_nothing_is_leased_otherwise() {
    let user = registered();
    let run = |more: &[&str]| {
        let arguments = [&["lease", "ticket", "--device", "d0e5"], more].concat();
        user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments)
    };
    for counter in ["0", "1073741824", "4294967295"] {
        let refused = run(&["--counter", counter]);
        assert!(refused.stderr.contains("1 to 1073741823 are allowed"));
    }
    for counter in ["1001", "1073741823"] {
        let said = run(&["--counter", counter]).fails(2);
        assert!(said.contains("1 to 1000 are allowed after 0"), "{said}");
    }
    assert!(user.run(&["lease", "list", "--json"]).ok().is_empty());

    // Where the device itself reports the last one.
    let told = user
        .run(&["lease", "device", "d0e5", "--counter", "1073741822"])
        .ok();
    assert!(told.ends_with("has counter 1073741822\n"), "{told}");
    let mut reader = TicketReader::new(DEVICE, 0);
    let bytes = ticket(&user, &["--counter", "1073741823"]);
    reader.accept::<Randflake>(&bytes, &key(), None).unwrap();
    let said = run(&[]).fails(1);
    assert!(said.contains("has reached its end, 1073741823"), "{said}");
}

#[test]
fn a_device_is_registered_before_it_gets_tickets() {
    let user = User::new();
    user.run(&["lease", "device", "d0e5", "--counter", "0"])
        .fails(1);
    user.run(&["lease", "init"]).ok();
    let arguments = ["lease", "ticket", "--device", "d0e5"];
    let answer = user.run_in(&[("RANDFLAKE_TICKET_KEY", TICKET_KEY)], &arguments);
    let said = answer.fails(1);
    let what_to_do = "randflake lease device 000000000000d0e5 --counter N";
    assert!(said.contains(what_to_do), "{said}");
    let said = user
        .run(&["lease", "device", "d0e5", "--owner", "meters"])
        .fails(1);
    assert!(said.contains(what_to_do), "{said}");
    user.run(&["lease", "device", "d0e5", "--counter", "41"])
        .ok();
    // Who operates the store makes tickets for every device.
    user.run(&["lease", "device", "d0e5", "--owner", "meters"])
        .ok();
    ticket(&user, &[]);
    let told = user.run(&["lease", "device", "D0E5"]).ok();
    let now = "device 000000000000d0e5 is owned by meters; its last ticket has counter 42\n";
    assert_eq!(told, now);
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
    let user = User::without_store();
    let without_key = user.run(&["lease", "ticket", "--device", "d0e5"]);
    assert_eq!(
        without_key.stderr,
        "randflake: no key: set RANDFLAKE_TICKET_KEY or give --ticket-key-file FILE\n"
    );
    let no_device = user.run(&["lease", "ticket", "--device", "+5"]);
    assert!(no_device.stderr.contains("1 to 16 hex digits are allowed"));
    assert!(!user.state("leases.db").exists());
}
