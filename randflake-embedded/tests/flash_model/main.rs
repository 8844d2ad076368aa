//! A model of flash, and a search of all that may happen to a horizon in it.
//!
//! What a slot may do is the statement that the stores are proved against:
//!
//! - a slot that was erased, or written and read back, without a cut reads the same from then on;
//! - a slot that a cut write or erase touched may read, at *each* read, as what it was, as what it
//!   was to become, as blank, as noise, or not at all;
//! - an operation may be done and reported as failed, and a future may be dropped anywhere;
//! - one bit may change in either direction, and one cell may be dead.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
#![expect(clippy::print_stdout, reason = "the sequences are to be read")]

mod bits;
mod choices;
mod designs;
mod explore;
mod flash;
mod lives;
mod ring;
mod slots;

use designs::{
    Design, HasNoSeals, LeavesUnsealed, MovesOn, Ours, ReadsNothingBack, RepairsSeal, Sound,
    TrustsBlank,
};
use explore::{Fault, Seen, explore};
use flash::{Dead, World};
use lives::{Tally, live};

/// Three pages, as few as a log may have. What is torn after a cut is torn in both directions,
/// which leaves a store the least to rely on: an erase or a write that leaves zeros alone torn
/// shows nothing that this does not.
const WORLD: World = World {
    pages: 3,
    // So many that a page gets full, and the next is begun.
    raises: 4,
    unanswered: 2,
    both_ways: true,
    write_once: true,
    unreadable: false,
    failures: 0,
    lost_bits: 0,
    may_refuse: false,
    dead: None,
    verifies: false,
    stuck: None,
};

/// Pages of four slots, as few as a page may have: a head, a seal, and records.
///
/// More show nothing new. A page has no more kinds of slot; the records behind the seal are written
/// in turn, so that all but the last touched one are firm; and which page is kept and erased
/// depends on heads and seals alone. Bisection of longer pages is left to the random model.
const SLOTS: usize = 4;

/// Whether more is asked: for minutes, by `cargo xtask deep horizon`.
fn is_long() -> bool {
    std::env::var_os("RANDFLAKE_HORIZON_LONG").is_some()
}

/// That nothing of all that may happen breaks the log.
fn holds(world: &World) -> Seen {
    match explore::<Ours, SLOTS>(world) {
        Ok(seen) => {
            println!("{world:?}: {seen:?}");
            seen
        }
        Err(broken) => panic!("{:?}: {world:?}\n{}", broken.fault, broken.story),
    }
}

/// How a design is broken, by the sequence of the fewest boots, which must exist.
fn broken<D: Design>(world: &World) -> Fault {
    let broken = explore::<D, SLOTS>(world).expect_err("the model is too kind");
    println!("{world:?}\n{}\n", broken.story);
    broken.fault
}

#[test]
fn four_cuts_in_a_row_lose_nothing() {
    let seen = holds(&World {
        unanswered: 4,
        ..WORLD
    });
    // Head and seal of three pages, and the two slots in the middle of each.
    assert!(seen.states > 20_000 && seen.reads <= 3 * 4, "{seen:?}");
}

/// Where the promise ends: nobody sees the answered page any more.
#[test]
fn five_cuts_in_a_row_are_too_many() {
    let fault = broken::<Ours>(&World {
        unanswered: 5,
        may_refuse: true,
        ..WORLD
    });
    assert_eq!(fault, Fault::Forgotten);
}

#[test]
fn raises_that_fail_and_are_cut_lose_nothing() {
    // Raises of a boot, unanswered ones in a row, failures of a boot: many of all three take hours.
    let searched: &[_] = if is_long() {
        &[(4, 2, 1), (3, 1, 1), (3, 0, 1), (2, 2, 2), (2, 1, 1)]
    } else {
        // A page may be begun ahead at the third. Three raises, and two with unanswered ones as
        // well, are left to `cargo xtask deep horizon`.
        &[(2, 0, 1), (1, 1, 1)]
    };
    for &(raises, unanswered, failures) in searched {
        holds(&World {
            raises,
            unanswered,
            failures,
            ..WORLD
        });
    }
}

#[test]
fn slots_that_cannot_be_read_lose_nothing() {
    holds(&World {
        unreadable: true,
        ..WORLD
    });
}

#[test]
fn one_bit_that_changes_loses_nothing() {
    let (raises, unanswered) = if is_long() { (4, 2) } else { (2, 1) };
    holds(&World {
        raises,
        unanswered,
        lost_bits: 1,
        ..WORLD
    });
}

/// A bit of a record that cannot be written, one that cannot be erased, and a slot that is all
/// dead, in each slot of a page: the ring has no first one.
#[test]
fn one_dead_slot_loses_and_stops_nothing() {
    // Each slot, and each kind of damage; all pairs of the two by `cargo xtask deep horizon`.
    for (place, slot) in (SLOTS..2 * SLOTS).enumerate() {
        let all = [(1 << 20, 0), (0, 1 << 52), (u64::MAX, 0), (0, u64::MAX)];
        let damages = if is_long() {
            &all[..]
        } else {
            &all[place..=place]
        };
        for &(ones, zeros) in damages {
            holds(&World {
                dead: Some(Dead { slot, ones, zeros }),
                unanswered: if is_long() { 2 } else { 1 },
                ..WORLD
            });
        }
    }
}

/// A cell that stays 0, in each slot of a page, where erases are verified: they fail for ever.
#[test]
fn page_with_a_dead_cell_is_marked_and_left() {
    for slot in SLOTS..2 * SLOTS {
        holds(&World {
            dead: Some(Dead {
                slot,
                ones: 0,
                zeros: 1 << 52,
            }),
            verifies: true,
            raises: if is_long() { 4 } else { 3 },
            unanswered: if is_long() { 2 } else { 1 },
            ..WORLD
        });
    }
}

/// What it showed when its erase began to fail, it shows for ever: it is passed over.
#[test]
fn page_that_cannot_be_erased_loses_nothing() {
    holds(&World {
        stuck: Some(1),
        failures: if is_long() { 2 } else { 0 },
        ..WORLD
    });
}

#[test]
fn four_pages_lose_nothing() {
    let (unanswered, raises) = if is_long() { (3, 4) } else { (1, 2) };
    holds(&World {
        pages: 4,
        raises,
        unanswered,
        ..WORLD
    });
}

/// Each rule of the log, left out.
#[test]
fn designs_that_look_as_if_they_would_do_are_broken() {
    let cuts = World {
        unanswered: 3,
        may_refuse: true,
        ..WORLD
    };
    let overwrites = World {
        write_once: false,
        ..cuts
    };
    let fails = World {
        failures: 1,
        raises: 2,
        ..cuts
    };
    let dead = World {
        dead: Some(Dead {
            slot: SLOTS,
            ones: u64::MAX,
            zeros: 0,
        }),
        ..cuts
    };
    // What they have in common is not what breaks them.
    let sound = [overwrites, fails, dead];
    for world in &sound[if is_long() { 0 } else { 2 }..] {
        let world = World {
            raises: 2,
            ..*world
        };
        assert!(explore::<Sound, SLOTS>(&world).is_ok(), "{world:?}");
    }
    assert_eq!(broken::<LeavesUnsealed>(&cuts), Fault::Forgotten);
    assert_eq!(broken::<HasNoSeals>(&cuts), Fault::Forgotten);
    assert_eq!(broken::<TrustsBlank>(&cuts), Fault::Overwritten);
    assert_eq!(broken::<TrustsBlank>(&overwrites), Fault::Forgotten);
    assert_eq!(broken::<RepairsSeal>(&overwrites), Fault::Forgotten);
    assert_eq!(broken::<MovesOn>(&fails), Fault::Forgotten);
    assert_eq!(broken::<ReadsNothingBack>(&dead), Fault::Forgotten);
}

/// Devices of all shapes that live by chance, in pages as long as real ones.
#[test]
fn no_device_repeats_an_id() {
    let tally = lives(if is_long() { 2_000 } else { 10 });
    println!("{tally}");
    let Tally {
        overlaps,
        lost,
        refused,
        overwritten,
        ..
    } = tally;
    assert_eq!([overlaps, lost, refused, overwritten], [0; 4], "{tally}");
}

/// So many devices of each shape, with a thousand cuts each.
fn lives(devices: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..devices {
        tally += live::<Ours, 8, 2_048>(seed, 3);
        tally += live::<Ours, 8, 4_096>(seed, 6);
        tally += live::<Ours, 16, 2_048>(seed, 4);
        tally += live::<Ours, 16, 4_096>(seed, 3);
        tally += live::<Ours, 32, 4_096>(seed, 5);
    }
    tally
}
