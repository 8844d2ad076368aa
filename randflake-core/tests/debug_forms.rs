//! `Debug` of types that hold a key or count: their state, and nothing that must stay hidden.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU64;

use randflake_core::internal::Block;
use randflake_core::{
    Base, Generator, Id, Lane, Lease, LocalWord, ManualClock, Monotonic, Randflake, Sparx64,
    UnixClock, Uptime,
};

/// Round keys would be among them.
const KEY: [u8; 16] = [0x5a; 16];

fn lease() -> Lease<Randflake> {
    Lease::new(Randflake, 42, 1_000, 1_060).unwrap()
}

#[test]
fn issuers_show_their_lease_and_not_the_key() {
    let clock = ManualClock::at_unix_ms(0);
    let cipher = || Sparx64::new(&KEY);
    let generator = Generator::<Randflake, AtomicU64, _>::new(lease(), &clock, cipher());
    let generator = format!("{:?}", generator.unwrap().with_tolerance(3));
    let [lane, _] = Lane::<Randflake, _, _>::split::<2>(lease(), &clock, cipher()).unwrap();
    let lane = format!("{:?}", lane.with_tolerance(3));
    for shown in [&generator, &lane] {
        assert!(shown.contains(&format!("{:?}", lease())), "{shown}");
        // 0x5a5a, the words of the key.
        assert!(!shown.contains("23130") && !shown.contains("90"), "{shown}");
    }
    for shown in [generator, lane] {
        assert!(shown.contains("tolerance: 3"), "{shown}");
    }
}

#[test]
fn a_block_shows_how_many_ids_are_left_and_not_which() {
    let block = Block::new([0_u64; 4]);
    assert_eq!(format!("{block:?}"), "Block { left: 0, .. }");
}

#[test]
fn an_uptime_shows_its_rate_and_seconds() {
    let uptime = Uptime::<100, _, LocalWord<u32>>::since_zero(|| 250);
    assert_eq!(uptime.uptime().as_millis(), 2_500);
    let shown = format!("{uptime:?}");
    assert!(shown.starts_with("Uptime { hz: 100, seconds: "), "{shown}");
    let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
    assert_eq!(clock.monotonic().uptime(), uptime.uptime());
}

#[test]
fn texts_are_shown_as_strings_are() {
    let id = Id::from_u64(12_345);
    let (text, digits) = (id.to_text(), id.to_base(Base::Base10));
    assert_eq!(
        (format!("{text:?}"), format!("{digits:?}")),
        ("\"c1p\"".to_owned(), "\"12345\"".to_owned())
    );
    assert_eq!(
        (format!("{text:>5}"), text.as_ref(), digits.as_ref()),
        ("  c1p".to_owned(), "c1p", "12345")
    );
}
