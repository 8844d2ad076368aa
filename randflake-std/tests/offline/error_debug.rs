//! `Debug` of every error is for people: a `main` that returns one prints it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use randflake_std::lease::{DeviceError, DeviceLeaseError, EngineError, Namespace, StoreError};
use randflake_std::private_file::{FileRefusal, RefusalReason};
use randflake_std::randflake_core::internal::PutError;
use randflake_std::randflake_core::segment::ReserveError;
use randflake_std::randflake_core::{
    Base, BaseError, DecodeError, ExtendError, FieldError, HorizonError, LayoutError, LeaseError,
    MakeTicketError, SetClockError, TicketError, UuidError,
};
use randflake_std::segment::{CounterError, SegmentError};
use randflake_std::tagged::{TagCheckError, TagSecretsError, TaggedBuildError};
use randflake_std::{
    BorderError, BuildError, GenerateError, Id53Error, KeyNumber, KeyNumberError, Randflake,
    SecretError, TagError, TaggedUuidError, TypedIdError, segment,
};

const SECRET: &str = "hunter2";

/// What nobody may read in a log, as a source below a sentence that hides it.
fn engine() -> EngineError {
    EngineError::unusable("the server refuses the user ids_app").because("wrong password")
}

fn shown<E: Error + 'static>(error: E, variant: &str) -> (&'static str, String) {
    let (told, shown) = (error.to_string(), format!("{error:?}"));
    assert!(shown.starts_with(&told), "{shown}");
    assert!(shown.ends_with(&format!("({variant})")), "{shown}");
    let mut cause = error.source();
    while let Some(error) = cause {
        assert!(shown.contains(&error.to_string()), "{shown}");
        cause = error.source();
    }
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(!shown.contains('\n'), "{shown}");
    (core::any::type_name::<E>(), shown)
}

fn of_core() -> Vec<(&'static str, String)> {
    let lease = LeaseError::Empty { start: 7, end: 7 };
    let base = BaseError {
        base: Base::Base32,
        problem: DecodeError::Empty,
    };
    vec![
        shown(base, "BaseError"),
        shown(
            BorderError::CipherMissing { name: "Order" },
            "BorderError::CipherMissing",
        ),
        shown(DecodeError::LeadingZero, "DecodeError::LeadingZero"),
        shown(ExtendError::Foreign, "ExtendError::Foreign"),
        shown(
            FieldError::Sequence { value: 9, max: 1 },
            "FieldError::Sequence",
        ),
        shown(
            GenerateError::ClockBehind { behind_ms: 3 },
            "GenerateError::ClockBehind",
        ),
        shown(
            Id53Error::TooLarge { number: u64::MAX },
            "Id53Error::TooLarge",
        ),
        shown(
            Id53Error::Text(TypedIdError::Digits(DecodeError::Empty)),
            "Id53Error::Text",
        ),
        shown(
            KeyNumberError::OutOfRange { number: 64 },
            "KeyNumberError::OutOfRange",
        ),
        shown(LayoutError::NoTick, "LayoutError::NoTick"),
        shown(lease, "LeaseError::Empty"),
        shown(MakeTicketError::Lease(lease), "MakeTicketError::Lease"),
        shown(PutError::Full, "PutError::Full"),
        shown(ReserveError::Empty, "ReserveError::Empty"),
        shown(SetClockError::Busy, "SetClockError::Busy"),
        shown(HorizonError::Store(engine()), "HorizonError::Store"),
        shown(
            TagError::Tag {
                key: KeyNumber::MIN,
            },
            "TagError::Tag",
        ),
        shown(TaggedUuidError::NoKeyNumber, "TaggedUuidError::NoKeyNumber"),
        shown(TicketError::Forged, "TicketError::Forged"),
        shown(
            TypedIdError::Digits(DecodeError::Empty),
            "TypedIdError::Digits",
        ),
        shown(UuidError::NoId, "UuidError::NoId"),
    ]
}

fn of_std() -> Vec<(&'static str, String)> {
    let lease = LeaseError::Empty { start: 7, end: 7 };
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let refusal = FileRefusal {
        path: "leases.db".into(),
        reason: RefusalReason::Io(denied()),
    };
    let waited = BuildError::Waited {
        waited: Duration::from_secs(3),
        error: engine().into(),
    };
    let hex = randflake_std::Secret::from_hex(SECRET).unwrap_err();
    let path = "randflake.key".into();
    let mode = 0o644;
    let reason = RefusalReason::Readable { mode };
    let readable = SecretError::File(FileRefusal { path, reason });
    vec![
        shown(engine(), "EngineError"),
        shown(StoreError::Unusable(engine()), "StoreError::Unusable"),
        shown(
            DeviceError::Exhausted { device_id: 5 },
            "DeviceError::Exhausted",
        ),
        shown(
            Namespace::new("A", Randflake).unwrap_err(),
            "NamespaceError",
        ),
        shown(waited, "BuildError::Waited"),
        shown(BuildError::Thread(denied()), "BuildError::Thread"),
        shown(BuildError::from(lease), "BuildError::Lease"),
        shown(
            BuildError::TooWide { bits: 64, max: 53 },
            "BuildError::TooWide",
        ),
        shown(hex, "SecretError::Hex"),
        shown(readable, "SecretError::File"),
        shown(
            CounterError::Unavailable(engine()),
            "CounterError::Unavailable",
        ),
        shown(
            segment::CounterTermsError::Digits { digits: 11 },
            "CounterTermsError::Digits",
        ),
        shown(
            segment::SegmentsBuildError::Thread(denied()),
            "SegmentsBuildError::Thread",
        ),
        shown(SegmentError::Refilling, "SegmentError::Refilling"),
        shown(DeviceError::from(engine()), "DeviceError::Store"),
        shown(
            DeviceLeaseError::NotLeased { device_id: 5 },
            "DeviceLeaseError::NotLeased",
        ),
        shown(refusal, "FileRefusal"),
        shown(
            TagSecretsError::Directory {
                directory: "keys".into(),
                source: denied(),
            },
            "TagSecretsError::Directory",
        ),
        shown(
            TagCheckError::Retired {
                number: KeyNumber::MIN,
            },
            "TagCheckError::Retired",
        ),
        shown(
            TaggedBuildError::Open(engine().into()),
            "TaggedBuildError::Open",
        ),
    ]
}

/// The types for which a crate's sources implement `Error`.
fn implemented(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            implemented(&path, names);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with("impl")) {
            if let Some((_, name)) = line.split_once("Error for ") {
                let end = name
                    .find(|c: char| !c.is_alphanumeric())
                    .unwrap_or(name.len());
                names.insert(name[..end].to_owned());
            }
        }
    }
}

#[test]
fn debug_of_every_error_is_its_sentence_its_causes_and_its_variant() {
    let mut names = BTreeSet::new();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    implemented(&home.join("src"), &mut names);
    implemented(&home.join("../randflake-core/src"), &mut names);
    for (path, _) in of_core().into_iter().chain(of_std()) {
        let path = path.split('<').next().unwrap();
        names.remove(path.rsplit("::").next().unwrap());
    }
    // Of firmware, where sentences take room: its `Debug` is derived.
    names.remove("FlashHorizonError");
    assert!(names.is_empty(), "not looked at: {names:?}");
}

#[test]
fn a_cause_is_told_once() {
    let shown = format!("{:?}", StoreError::Unusable(engine()));
    let expected = "the server refuses the user ids_app: wrong password (StoreError::Unusable)";
    assert_eq!(shown, expected);
    let error = SecretError::Random(io::Error::other("no entropy"));
    let expected = "the operating system has no random numbers: no entropy (SecretError::Random)";
    assert_eq!(format!("{error:?}"), expected);
}

/// What a service prints whose `main` returns the error of a key file.
#[test]
fn a_main_that_fails_says_what_to_do() {
    let error = SecretError::File(FileRefusal {
        path: "randflake.key".into(),
        reason: RefusalReason::Readable { mode: 0o644 },
    });
    let error: Box<dyn Error> = Box::new(BuildError::from(StoreError::unusable(error.to_string())));
    let shown = format!("Error: {error:?}");
    let expected = "Error: secret file randflake.key has mode 0644, so that others may use it: ";
    assert!(shown.starts_with(expected), "{shown}");
}
