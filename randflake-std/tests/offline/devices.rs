//! Leases of devices beside those of processes.

use core::time::Duration;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::lease::{
    AcquireRequest, DeviceLeaseError, KeyCheck, MemoryStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::{BuildError, ExactSystemClock, Handle, KeyNumber, Randflake, Secret};

#[test]
fn a_device_is_named_in_one_way() {
    let clock = Arc::new(ManualClock::at_unix_ms(1_733_706_297_000));
    let namespace = Namespace::new("meters", Randflake).unwrap();
    let mut store = MemoryStore::new(namespace, Arc::clone(&clock));
    for (number, holder) in [
        "device",
        "device/",
        "device/0d0e5a1b",
        "device/00000000000000d0e5",
        "device/000000000000D0E5",
        "device/+00000000000d0e5",
        "device/000000000000d0e5/1",
        " device/000000000000d0e5",
    ]
    .into_iter()
    .enumerate()
    {
        let request = AcquireRequest {
            token: Token::from_bytes([u8::try_from(number).unwrap(); 16]),
            holder,
            nodes: NodeIds::Any(1),
            ttl: 60,
        };
        store.acquire(&request).unwrap();
    }
    assert!(store.devices().leases().unwrap().is_empty());
    let ttl = Duration::from_secs(60);
    let lease = store.devices().acquire(0xd0e5, ttl).unwrap();
    let found = store.devices().find(0xd0e5).unwrap();
    assert_eq!(found.grant(), lease.grant());
    assert_eq!((found.device_id(), lease.device_id()), (0xd0e5, 0xd0e5));
    assert_eq!(store.devices().leases().unwrap().len(), 1);
    // At its end it is none of the live ones any more.
    clock.advance_ms(60_000 - 1);
    assert_eq!(store.devices().leases().unwrap().len(), 1);
    clock.advance_ms(1);
    assert!(store.devices().leases().unwrap().is_empty());
}

#[test]
fn a_process_is_not_named_like_a_device() {
    let builder = |name: &str| {
        let clock = Arc::new(ExactSystemClock);
        let store = MemoryStore::new(Namespace::new("meters", Randflake).unwrap(), clock);
        Handle::builder(&Secret::from_bytes([7; 16]), store).holder(name)
    };
    for name in [
        "device",
        "device/",
        "device/0d0e5",
        "",
        "a\nb",
        "\u{9b}",
        &"x".repeat(97),
    ] {
        let error = builder(name).build().unwrap_err();
        assert!(matches!(error, BuildError::Holder { .. }), "{error}");
        let error = error.to_string();
        assert!(
            error.contains("1 to 96 bytes") && !error.contains('\n'),
            "{error}"
        );
    }
    for name in ["devices", "my device", "ä/1", &"x".repeat(96)] {
        builder(name).build().unwrap();
    }
}

/// Not even under a lease that somebody else has taken in a device's name.
#[test]
fn devices_issue_no_tagged_uuids() {
    let mut store = MemoryStore::with_system_clock(Namespace::new("meters", Randflake).unwrap());
    store.set_key_check(KeyCheck::Tagged {
        number: KeyNumber::MIN,
        check: 7,
    });
    let ttl = Duration::from_secs(60);
    let refused = store.devices().acquire(0xd0e5, ttl).unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused:?}");
    assert!(
        refused.to_string().contains("another namespace"),
        "{refused}"
    );
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "device/000000000000d0e5",
        nodes: NodeIds::Any(1),
        ttl: 60,
    };
    let granted = store.acquire(&request).unwrap();
    let mut lease = store.devices().find(0xd0e5).unwrap();
    let refused = lease.renew(&mut store, ttl).unwrap_err();
    assert!(
        matches!(refused, DeviceLeaseError::Store(StoreError::Invalid(_))),
        "{refused:?}"
    );
    assert_eq!(*lease.grant(), granted.grants[0]);
}
