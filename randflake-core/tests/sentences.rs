//! The message of each error: a user sees nothing else, so its numbers must be right and in the
//! right place.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::error::Error;
use core::fmt::Display;

use randflake_core::internal::PutError;
use randflake_core::{
    Base, BaseError, DecodeError, ExtendError, FieldError, FlashHorizonError, GenerateError,
    GenerateErrorKind, HorizonError, KeyNumber, KeyNumberError, LayoutError, LeaseError,
    MakeTicketError, SetClockError, TagError, TaggedUuidError, TicketError, UuidError,
};

fn say<E: Display>(sentences: &[(E, &str)]) {
    for (error, sentence) in sentences {
        assert_eq!(error.to_string(), *sentence);
    }
}

#[test]
fn of_fields_and_layouts() {
    say(&[
        (
            FieldError::BeforeEpoch { epoch_unix_ms: 9 },
            "the time is before the layout's epoch, 9 ms",
        ),
        (
            FieldError::Timestamp { tick: 9, max: 7 },
            "tick 9 is out of range: 0 to 7 are allowed",
        ),
        (
            FieldError::NodeId { value: 9, max: 7 },
            "node id 9 is out of range: 0 to 7 are allowed",
        ),
        (
            FieldError::Sequence { value: 9, max: 7 },
            "sequence 9 is out of range: 0 to 7 are allowed",
        ),
        (
            FieldError::NodePart {
                name: "worker",
                value: 9,
                max: 7,
            },
            "worker 9 is out of range: 0 to 7 are allowed",
        ),
        (
            FieldError::NodeParts { given: 1, parts: 2 },
            "1 values for the 2 parts of the node id: as many are allowed",
        ),
    ]);
    let name = "sequence";
    say(&[
        (
            LayoutError::FieldTooWide {
                name,
                bits: 33,
                most: 32,
            },
            "the sequence has 33 bits: at most 32 are allowed",
        ),
        (
            LayoutError::FieldOutside {
                name,
                bits: 9,
                shift: 60,
            },
            "the sequence, 9 bits shifted by 60, is not within the 64 bits of an id",
        ),
        (LayoutError::FieldsOverlap, "two fields share a bit"),
        (
            LayoutError::TooFewTimestampBits { bits: 23, most: 22 },
            "the node id and the sequence have 23 bits together: at most 22 are allowed",
        ),
        (
            LayoutError::NodeFields {
                bits: 11,
                node_bits: 10,
            },
            "the parts of the node id have 11 bits together: its 10 are allowed",
        ),
        (
            LayoutError::NoTimestamp,
            "the timestamp has no bits: 1 to 63 are allowed",
        ),
        (
            LayoutError::NoTick,
            "the tick has no length: at least 1 ms is allowed",
        ),
        (
            LayoutError::TimeOverflow,
            "the last tick's time is over 64 bits of milliseconds",
        ),
    ]);
}

#[test]
fn of_texts() {
    let foreign = |byte| DecodeError::InvalidDigit { index: 2, byte };
    say(&[
        (
            DecodeError::Empty,
            "the text is empty: 1 to 13 digits of 0-9a-v are allowed",
        ),
        (
            DecodeError::TooLong { len: 14 },
            "the text has 14 characters: at most 13 are allowed",
        ),
        (
            DecodeError::LeadingZero,
            "the text has a leading zero, which is not allowed",
        ),
        (
            foreign(b'W'),
            "'W', character 3, is not a digit: 0-9 and a-v are allowed",
        ),
        (
            foreign(b'\n'),
            r"'\n', character 3, is not a digit: 0-9 and a-v are allowed",
        ),
        (
            foreign(0xe9),
            "byte 0xe9, character 3, is not a digit: 0-9 and a-v are allowed",
        ),
        (
            DecodeError::Overflow,
            "the number is over 64 bits: at most fvvvvvvvvvvvv is allowed",
        ),
        (DecodeError::Truncated, "the text's end is missing"),
    ]);
    let of = |base, problem| BaseError { base, problem };
    say(&[
        (
            of(Base::Base2, DecodeError::Empty),
            "the text is empty: 1 to 64 digits of base2, 01, are allowed",
        ),
        (
            of(Base::Base2, DecodeError::TooLong { len: 65 }),
            "the text has 65 characters: at most 64 are allowed in base2",
        ),
        (
            of(Base::Base10, DecodeError::LeadingZero),
            "the text has a leading zero, which is not allowed in base10",
        ),
        (
            of(Base::Base2, foreign(b'2')),
            "'2', character 3, is not a digit of base2: 01 are",
        ),
        (
            of(Base::Base64, foreign(b'!')),
            "'!', character 3, does not belong to the base64 of a decimal number",
        ),
        (
            of(Base::Base10, DecodeError::Overflow),
            "the number is over 64 bits: at most 18446744073709551615 is allowed in base10",
        ),
        (
            of(Base::Base64, DecodeError::Truncated),
            "the text's end is missing: base64 is padded with '='",
        ),
    ]);
    say(&[
        (
            UuidError::NotVersion8,
            "the UUID is not of version 8: only those made of ids are allowed",
        ),
        (
            UuidError::NoId,
            "the UUID was not made of an id: its last 58 bits must be zero",
        ),
    ]);
}

#[test]
fn of_leases_and_tickets() {
    let empty = LeaseError::Empty { start: 8, end: 7 };
    say(&[
        (
            LeaseError::NodeId { value: 9, max: 7 },
            "node id 9 is out of range: 0 to 7 are allowed",
        ),
        (
            empty,
            "the lease holds no tick: its end 7 must be after its start 8",
        ),
        (
            LeaseError::BeyondLayout { end: 9, max: 7 },
            "the lease's end 9 is past the layout's last: at most 7 is allowed",
        ),
        (
            LeaseError::TooLong { ticks: 9, max: 7 },
            "the lease has 9 ticks: the generator's word counts at most 7",
        ),
        (
            LeaseError::TooWide { bits: 64, max: 53 },
            "the layout has 64 bits: the permutation of its ids allows at most 53",
        ),
        (
            LeaseError::NotProvisioned,
            "the device is not provisioned: the memory of its grant is blank; write it with `randflake lease provision`",
        ),
        (
            LeaseError::GrantVersion { found: 2 },
            "the grant in the device's memory has version 2: 1 is known, and 2 of layouts of up to 53 bits; use the firmware that it was written for, or provision the device anew",
        ),
    ]);
    say(&[
        (
            ExtendError::Foreign,
            "the extension has another layout, node id or start than the lease",
        ),
        (
            ExtendError::Expired { since_ms: 9 },
            "the lease expired 9 ms ago and cannot be extended",
        ),
        (
            ExtendError::ClockUnknown,
            "the clock does not know the time, so the lease may have expired",
        ),
        (
            ExtendError::TooLong { ticks: 9, max: 7 },
            "the extension has 9 ticks: the generator's word counts at most 7",
        ),
        (ExtendError::Closed, "the generator is closed"),
    ]);
    say(&[
        (
            MakeTicketError::Counter { counter: 9, max: 7 },
            "the ticket's counter is 9: 1 to 7 are allowed",
        ),
        (
            MakeTicketError::from(empty),
            "the lease does not fit a ticket: the lease holds no tick: its end 7 must be after its start 8",
        ),
    ]);
    say(&[
        (
            TicketError::Length { len: 31 },
            "the ticket has 31 bytes: 32 are allowed",
        ),
        (
            TicketError::Version { version: 2 },
            "the ticket is of version 2: 1 is allowed, and 2 for layouts of up to 53 bits",
        ),
        (
            TicketError::Forged,
            "the ticket's tag is wrong: it was changed, or made with another key",
        ),
        (
            TicketError::Foreign { device_id: 0xab },
            "the ticket is of device 00000000000000ab",
        ),
        (
            TicketError::Replayed {
                counter: 7,
                last: 9,
            },
            "the ticket's counter is 7: more than 9, that of the last one, is allowed",
        ),
        (
            TicketError::Counter { counter: 9, max: 7 },
            "the ticket's counter is 9: at most 7 is allowed",
        ),
        (
            TicketError::Malformed(empty),
            "the ticket's lease is invalid: the lease holds no tick: its end 7 must be after its start 8",
        ),
        (
            TicketError::Expired { since_s: 9 },
            "the ticket's lease expired 9 s ago",
        ),
    ]);
}

#[test]
fn of_clocks_and_horizons() {
    let horizon = [
        (
            HorizonError::Lost,
            "Lost",
            "no horizon is readable: the device was not provisioned, or has lost it; a grant that nobody has used is needed",
        ),
        (
            HorizonError::Provisioned,
            "Provisioned",
            "the device has a horizon already",
        ),
        (HorizonError::GrantUsed, "GrantUsed", "the grant is used up"),
        (
            HorizonError::Foreign,
            "Foreign",
            "the lease is not that of the last block",
        ),
        (
            HorizonError::OutOfRange,
            "OutOfRange",
            "the block would end past 2106-02-07 06:28:15 UTC, the last horizon that is allowed",
        ),
        (
            HorizonError::Store(SetClockError::Busy),
            "Store",
            "the horizon was not raised",
        ),
    ];
    for (error, variant, sentence) in horizon {
        assert_eq!(error.to_string(), sentence);
        assert!(format!("{error:?}").contains(variant), "{error:?}");
        let is_stores = matches!(error, HorizonError::Store(_));
        assert_eq!(error.source().is_some(), is_stores, "{error:?}");
    }
    say(&[
        (
            SetClockError::OutOfRange,
            "the clock cannot show that time: from when it started, if that was in 1970, to 2106-02-07 06:28:15 UTC is allowed",
        ),
        (SetClockError::Busy, "the clock is being set already"),
    ]);
    say(&[
        (
            FlashHorizonError::Flash("wire"),
            "the flash failed: \"wire\"",
        ),
        (
            FlashHorizonError::NotWritten,
            "the flash shows other bits than were written",
        ),
        (
            FlashHorizonError::OutOfRange,
            "past the last horizon that can be stored: at most 4294967292 is allowed",
        ),
        (
            FlashHorizonError::TooSmall,
            "the flash has fewer than three pages",
        ),
    ]);
}

#[test]
fn of_generators_and_counters() {
    let generate = [
        (
            GenerateError::ClockUnknown,
            GenerateErrorKind::ClockUnknown,
            "the clock does not know the time yet",
        ),
        (
            GenerateError::ClockBehind { behind_ms: 9 },
            GenerateErrorKind::ClockBehind,
            "the clock is 9 ms behind the next tick to issue ids of",
        ),
        (
            GenerateError::SequenceExhausted { retry_in_ms: 9 },
            GenerateErrorKind::SequenceExhausted,
            "the tick's ids are all issued, the next tick is in 9 ms",
        ),
        (
            GenerateError::LeaseOver { since_ms: 0 },
            GenerateErrorKind::LeaseOver,
            "the lease has expired",
        ),
        (
            GenerateError::LeaseOver { since_ms: 9 },
            GenerateErrorKind::LeaseOver,
            "the lease expired 9 ms ago",
        ),
        (
            GenerateError::Closed,
            GenerateErrorKind::Closed,
            "the generator is closed",
        ),
        (
            GenerateError::Copied,
            GenerateErrorKind::Copied,
            "the generation number has changed, so a copy of this process may have the same leases: others are being acquired",
        ),
        (
            GenerateError::InForkedChild,
            GenerateErrorKind::InForkedChild,
            "a forked child must not use its parent's leases: build a handle of its own",
        ),
    ];
    for (error, kind, sentence) in generate {
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, sentence));
    }
    say(&[
        (PutError::Full, "the buffer holds two segments already"),
        (
            PutError::WentBack {
                first: 7,
                reached: 9,
            },
            "the counter went back: it gave 7 after everything below 9 was reserved",
        ),
    ]);
}

#[test]
fn of_tagged_uuids() {
    let number = |number| KeyNumber::new(number).unwrap();
    say(&[
        (
            KeyNumberError::OutOfRange { number: 64 },
            "key number 64 is out of range: 1 to 63 are allowed",
        ),
        (
            KeyNumberError::Text,
            "the key number is not a decimal number from 1 to 63, without sign and leading zero",
        ),
    ]);
    say(&[
        (
            TaggedUuidError::Text,
            "the text is not a UUID: 32 digits of 0-9 and a-f are allowed, with hyphens after the 8th, 12th, 16th and 20th",
        ),
        (
            TaggedUuidError::NotVersion8,
            "the UUID is not of version 8: only those made with a key number and a tag are allowed",
        ),
        (
            TaggedUuidError::NoKeyNumber,
            "the UUID has key number 0, so no tag: only those made with a key number from 1 to 63 are allowed",
        ),
    ]);
    say(&[
        (
            TagError::KeyNumber {
                uuid: number(2),
                key: number(1),
            },
            "the UUID has key number 2: only 1 is allowed",
        ),
        (
            TagError::Tag { key: number(2) },
            "the UUID's tag is wrong: it was not made by a holder of key 2 of this namespace",
        ),
    ]);
}

mod debug {
    //! `Debug` of types that hold a key or count: their state, and nothing that must stay hidden.

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
}
