//! Leases and tickets: what is a lease, and what a device accepts as one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;

use cmac::{Cmac, Mac};
use proptest::prelude::*;
use randflake_core::{
    Layout, LayoutFields, LayoutSpec, Lease, LeaseError, MakeTicketError, Plain, Randflake,
    Randflake53, Snowflake, Ticket, TicketError, TicketReader,
};
use serde_json::Value;
use sparx64::{Sparx64, Sparx64OnTheFly};

/// The first tick that the layout does not have.
const MAX_END: u64 = 1 << 30;

#[test]
fn lease_is_within_its_layout() {
    let lease = |start, end| Lease::new(Randflake, 1, start, end);
    let empty = |start, end| Err(LeaseError::Empty { start, end });
    assert_eq!(lease(5, 5), empty(5, 5));
    assert_eq!(lease(6, 5), empty(6, 5));
    assert_eq!(lease(0, 0), empty(0, 0));
    assert_eq!(lease(5, 6).map(|lease| lease.ticks()), Ok(1));
    let last = lease(MAX_END - 1, MAX_END);
    assert_eq!(last.map(|lease| lease.end()), Ok(MAX_END));
    for end in [MAX_END + 1, u64::MAX] {
        let beyond = LeaseError::BeyondLayout { end, max: MAX_END };
        assert_eq!(lease(0, end), Err(beyond));
    }
}

#[test]
fn a_lease_has_a_node_id_of_the_layout() {
    let max = 131_071;
    let lease = |node_id| Lease::new(Randflake, node_id, 5, 6);
    assert_eq!(lease(max).map(|lease| lease.node_id()), Ok(max));
    let value = max + 1;
    assert_eq!(lease(value), Err(LeaseError::NodeId { value, max }));
}

#[test]
fn only_memory_that_nobody_wrote_is_not_provisioned() {
    let grant = |words| Lease::from_words(Randflake, words);
    assert_eq!(grant([0; 4]), Err(LeaseError::NotProvisioned));
    assert_eq!(grant([u32::MAX; 4]), Err(LeaseError::NotProvisioned));
    // One bit was written.
    for (word, bit) in (0..4).flat_map(|word| (0..32).map(move |bit| (word, bit))) {
        for blank in [0, u32::MAX] {
            let mut words = [blank; 4];
            words[word] ^= 1 << bit;
            assert_ne!(grant(words), Err(LeaseError::NotProvisioned), "{words:x?}");
        }
    }
}

#[test]
fn a_grant_is_of_the_version_that_it_names() {
    let grant = |words| Lease::from_words(Randflake, words);
    for found in [0, 2, u32::MAX] {
        let other = Err(LeaseError::GrantVersion { found });
        assert_eq!(grant([42, 1_000, 1_060, found]), other);
    }
    let expected = Lease::new(Randflake, 42, 1_000, 1_060);
    assert_eq!(grant([42, 1_000, 1_060, 1]), expected);
    // One of 53-bit ids is not taken for one of 64, nor the other way round.
    let grant53 = |words| Lease::from_words(Randflake53, words);
    let expected = Lease::new(Randflake53, 42, 1_000, 1_060);
    assert_eq!(grant53([42, 1_000, 1_060, 2]), expected);
    let other = Err(LeaseError::GrantVersion { found: 1 });
    assert_eq!(grant53([42, 1_000, 1_060, 1]), other);
    let first = Lease::new(Randflake, 0, 0, 60);
    assert_eq!(grant([0, 0, 60, 1]), first);
    let (start, end) = (1_060, 1_000);
    let empty = Err(LeaseError::Empty { start, end });
    assert_eq!(grant([42, 1_060, 1_000, 1]), empty);
}

const KEY: [u8; 16] = *b"a key of tickets";
const DEVICE: u64 = 0x0123_4567_89ab_cdef;

fn lease() -> Lease<Randflake> {
    Lease::new(Randflake, 42, 1_000, 1_060).unwrap()
}

fn ticket(counter: u32) -> [u8; Ticket::LEN] {
    Ticket::of(&lease(), DEVICE, counter).unwrap().encode(&KEY)
}

fn at(tick: u64) -> Duration {
    Duration::from_millis(Randflake::SPEC.unix_ms(tick))
}

#[test]
fn others_write_the_same_bytes() {
    let of_64_bits = others_write(Randflake, include_str!("vectors/tickets.json"));
    assert_eq!(of_64_bits, (12, 4));
    let of_53_bits = others_write(Randflake53, include_str!("vectors/tickets53.json"));
    assert_eq!(of_53_bits, (6, 2));
}

/// How many there are, and how many of them no device accepts.
fn others_write<L: Layout>(layout: L, vectors: &str) -> (usize, usize) {
    let entries: Vec<Value> = serde_json::from_str(vectors).unwrap();
    let mut refused = 0;
    for entry in &entries {
        let number = |name: &str| entry[name].as_u64().unwrap();
        let hex = |name: &str| entry[name].as_str().unwrap();
        let key = u128::from_str_radix(hex("key"), 16).unwrap().to_be_bytes();
        let device_id = u64::from_str_radix(hex("device_id"), 16).unwrap();
        let tick = |name| number(name) - 1_730_000_000;
        let node_id = u32::try_from(number("node_id")).unwrap();
        let lease = Lease::new(layout, node_id, tick("start_unix_s"), tick("end_unix_s")).unwrap();
        let counter = u32::try_from(number("counter")).unwrap();

        let made = Ticket::of(&lease, device_id, counter);
        let expected: Vec<u8> = (0..hex("ticket").len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex("ticket")[at..at + 2], 16).unwrap())
            .collect();
        let mut reader = TicketReader::new(device_id, counter - 1);
        let accepted = reader.accept(&expected, &key, None);
        let max = Ticket::MAX_COUNTER;
        if counter > max {
            assert_eq!(made, Err(MakeTicketError::Counter { counter, max }));
            assert_eq!(accepted, Err(TicketError::Counter { counter, max }));
            refused += 1;
        } else {
            assert_eq!(made.unwrap().encode(&key)[..], expected);
            assert_eq!(accepted, Ok(lease));
        }
    }
    (entries.len(), refused)
}

/// A server may make tickets with whichever type of the cipher it has.
#[test]
fn the_tag_is_the_mac_under_either_type_of_the_cipher() {
    fn mac<M: Mac + cmac::KeyInit>(body: &[u8]) -> Vec<u8> {
        let mut mac = <M as cmac::KeyInit>::new_from_slice(&KEY).unwrap();
        mac.update(body);
        mac.finalize().into_bytes().to_vec()
    }
    for counter in [1, 7, Ticket::MAX_COUNTER] {
        let bytes = ticket(counter);
        let (body, tag) = bytes.split_at(24);
        assert_eq!(mac::<Cmac<Sparx64>>(body), tag);
        assert_eq!(mac::<Cmac<Sparx64OnTheFly>>(body), tag);
    }
}

#[test]
fn each_refusal_has_its_error_and_changes_nothing() {
    let mut reader = TicketReader::new(DEVICE, 6);
    let mut refused = |bytes: &[u8], now, expected| {
        let accepted = reader.accept::<Randflake>(bytes, &KEY, now);
        assert_eq!(accepted, Err(expected));
        assert_eq!(reader.last_counter(), 6);
    };
    let good = ticket(7);
    for len in 0..Ticket::LEN {
        refused(&good[..len], None, TicketError::Length { len });
    }
    refused(
        &[&good[..], &[0]].concat(),
        None,
        TicketError::Length { len: 33 },
    );
    let mut next_version = good;
    next_version[0] = 2;
    refused(&next_version, None, TicketError::Version { version: 2 });
    let lease53 = Lease::new(Randflake53, 42, 3_706_297, 3_706_357).unwrap();
    let of_53_bits = Ticket::of(&lease53, DEVICE, 7).unwrap().encode(&KEY);
    refused(&of_53_bits, None, TicketError::Version { version: 2 });
    for bit in 8..8 * Ticket::LEN {
        let mut changed = good;
        changed[bit / 8] ^= 1 << (bit % 8);
        refused(&changed, None, TicketError::Forged);
    }
    let other_key = Ticket::of(&lease(), DEVICE, 7).unwrap().encode(&[0; 16]);
    refused(&other_key, None, TicketError::Forged);
    let other_device = Ticket::of(&lease(), 5, 7).unwrap().encode(&KEY);
    refused(&other_device, None, TicketError::Foreign { device_id: 5 });
    for counter in [1, 5, 6] {
        refused(
            &ticket(counter),
            None,
            TicketError::Replayed { counter, last: 6 },
        );
    }
    refused(&good, Some(at(1_060)), TicketError::Expired { since_s: 0 });
    refused(&good, Some(at(1_063)), TicketError::Expired { since_s: 3 });

    assert_eq!(reader.accept(&good, &KEY, Some(at(1_059))), Ok(lease()));
    assert_eq!(reader.last_counter(), 7);
    let again = reader.accept::<Randflake>(&good, &KEY, Some(at(1_059)));
    assert_eq!(
        again,
        Err(TicketError::Replayed {
            counter: 7,
            last: 7
        })
    );
}

#[test]
fn a_lease_of_another_layout_is_malformed() {
    let bytes = Ticket::of(&Lease::new(Randflake, 1_024, 0, 9).unwrap(), DEVICE, 1)
        .unwrap()
        .encode(&KEY);
    let mut reader = TicketReader::new(DEVICE, 0);
    let no_such_node = LeaseError::NodeId {
        value: 1_024,
        max: 1_023,
    };
    assert_eq!(
        reader.accept::<Snowflake>(&bytes, &KEY, None),
        Err(TicketError::Malformed(no_such_node))
    );
    assert_eq!(reader.last_counter(), 0);
}

#[test]
fn a_lease_that_does_not_fit_gets_no_ticket() {
    let within_a_second = Lease::new(Snowflake, 1, 1, 300).unwrap();
    let refused = Ticket::of(&within_a_second, DEVICE, 1).unwrap_err();
    assert!(
        matches!(refused, MakeTicketError::Lease(LeaseError::Empty { .. })),
        "{refused}"
    );
    // From the beginning of a second until within the same one.
    let start = 1_288_834_975;
    let within_a_second = Lease::new(Snowflake, 1, 343, 900).unwrap();
    assert_eq!(Snowflake::SPEC.unix_ms(343), start * 1_000);
    let empty = LeaseError::Empty { start, end: start };
    let refused = Ticket::of(&within_a_second, DEVICE, 1);
    assert_eq!(refused, Err(MakeTicketError::Lease(empty)));
    let longest = Lease::new(randflake_core::Sonyflake, 1, 0, 1 << 39).unwrap();
    let refused = Ticket::of(&longest, DEVICE, 1).unwrap_err();
    assert!(
        matches!(
            refused,
            MakeTicketError::Lease(LeaseError::BeyondLayout { .. })
        ),
        "{refused}"
    );
}

/// Node ids of 25 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ManyNodes;

impl Layout for ManyNodes {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([32, 25, 7], 0, 1_000));
}

#[test]
fn a_node_id_has_24_bits_in_a_ticket() {
    let lease = |node_id| Lease::new(ManyNodes, node_id, 1_000, 1_060).unwrap();
    let max = (1 << 24) - 1;
    let bytes = Ticket::of(&lease(max), DEVICE, 1).unwrap().encode(&KEY);
    let mut reader = TicketReader::new(DEVICE, 0);
    assert_eq!(reader.accept(&bytes, &KEY, None), Ok(lease(max)));
    let value = max + 1;
    let refused = Ticket::of(&lease(value), DEVICE, 1);
    let no_such_node = LeaseError::NodeId { value, max };
    assert_eq!(refused, Err(MakeTicketError::Lease(no_such_node)));
}

#[test]
fn a_counter_that_no_device_accepts_gets_no_ticket() {
    let max = Ticket::MAX_COUNTER;
    assert_eq!(max, (1 << 30) - 1);
    for counter in [0, max + 1, u32::MAX] {
        let refused = Ticket::of(&lease(), DEVICE, counter).unwrap_err();
        assert_eq!(refused, MakeTicketError::Counter { counter, max });
        let said = format!("the ticket's counter is {counter}: 1 to 1073741823 are allowed");
        assert_eq!(refused.to_string(), said);
    }
    let mut reader = TicketReader::new(DEVICE, max - 1);
    assert_eq!(reader.accept(&ticket(max), &KEY, None), Ok(lease()));
    assert_eq!(reader.last_counter(), max);
}

/// A renewed lease extends the generator's.
#[test]
fn a_later_ticket_extends() {
    let mut reader = TicketReader::new(DEVICE, 0);
    let first: Lease<Randflake> = reader.accept(&ticket(1), &KEY, None).unwrap();
    let renewed = Lease::new(Randflake, 42, 1_000, 1_300).unwrap();
    let bytes = Ticket::of(&renewed, DEVICE, 2).unwrap().encode(&KEY);
    let second = reader
        .accept::<Randflake>(&bytes, &KEY, Some(at(1_050)))
        .unwrap();
    assert_eq!((first.start(), second.end()), (second.start(), 1_300));
}

proptest! {
    /// What a ticket grants lies within the lease that it was made of.
    #[test]
    fn leases_of_finer_ticks_are_rounded_inwards(
        start in 0..1_u64 << 40,
        ticks in 2_000..100_000_000_u64,
        node_id in 0..1_024_u32,
    ) {
        let lease = Lease::new(Snowflake, node_id, start, start + ticks).unwrap();
        let bytes = Ticket::of(&lease, DEVICE, 1).unwrap().encode(&KEY);
        let granted: Lease<Snowflake> = TicketReader::new(DEVICE, 0).accept(&bytes, &KEY, None).unwrap();
        prop_assert_eq!(granted.node_id(), node_id);
        prop_assert!(lease.start() <= granted.start() && granted.end() <= lease.end());
        prop_assert!(granted.start() < lease.start() + 1_000 && lease.end() < granted.end() + 1_000);
    }
}

/// The version byte is above the node id's 24 bits: a wider one would change it.
#[test]
fn a_node_id_of_over_24_bits_makes_no_ticket() {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Wide;

    impl Layout for Wide {
        type Permutation = Plain;
        const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([30, 25, 9], 0, 1_000));
    }

    let max = (1 << 24) - 1;
    let made = |node_id| Ticket::of(&Lease::new(Wide, node_id, 1, 2).unwrap(), DEVICE, 1);
    assert!(made(max).is_ok());
    let value = max + 1;
    let error = MakeTicketError::Lease(LeaseError::NodeId { value, max });
    assert_eq!(made(value).unwrap_err(), error);
}
