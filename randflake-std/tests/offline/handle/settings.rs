//! What a builder refuses, and what it begins with.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use randflake_std::lease::{MemoryStore, Namespace, StoreError};
use randflake_std::{BuildError, Builder, ExactSystemClock, Handle, Randflake, Secret, Snowflake};

use super::{TTL, builder, live, store, store_for};

#[test]
fn a_store_whose_clock_is_far_off_is_refused() {
    let (store, clock) = store_for::<Randflake>();
    for offset_ms in [-60_000, 60_000] {
        clock.offset_ms.store(offset_ms, Ordering::SeqCst);
        let error = builder(&store.clone().compared_with(Arc::new(ExactSystemClock)))
            .build()
            .unwrap_err();
        assert!(
            matches!(error, BuildError::Store(StoreError::ClockSkew { .. })),
            "{error}"
        );
        assert!(live(&store).is_empty(), "what was acquired was given back");
    }
}

#[test]
fn settings_out_of_range_are_refused_with_what_is_allowed() {
    let message = |builder: Builder| builder.build().unwrap_err().to_string();
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(2))),
        "a TTL of 2s is too short: at least 3s is allowed"
    );
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(301))),
        "a TTL of 5m 1s was asked for: 1s to 5m are allowed in this namespace, whose longest TTL was fixed when it was created"
    );
    assert_eq!(
        message(builder(&store()).tolerance(6)),
        "a tolerance of 6 ticks is too large: at most 5 is allowed"
    );
    assert_eq!(
        message(builder(&store()).node_ids(0)),
        "0 node ids asked for: 1 to 131072 are allowed"
    );
    assert_eq!(
        message(Handle::builder(
            &Secret::from_bytes([7; 16]),
            store_for::<Snowflake>().0
        )),
        "the store was opened for namespace \"test\" of another layout than the handle's: give both the same one, as in \
         Namespace::new(\"test\", Milliflake) and Builder::encrypted(Milliflake, &secret, store), or Builder::new(Snowflake, \
         Plain, store) for plain ids; Handle::builder(&secret, store) is for Randflake"
    );
}

#[test]
fn a_namespace_has_one_secret() {
    let store = store();
    let ids = builder(&store).build().unwrap();
    let refused = Handle::builder(&Secret::from_bytes([8; 16]), store).build();
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, BuildError::Store(StoreError::Terms { .. })),
        "{refused}"
    );
    ids.generate().unwrap();
}

#[test]
fn nothing_shows_the_secret() {
    // Neither text of two such bytes is ever a part of what else is shown, as a time is.
    let secret = Secret::from_bytes([0xAB; 16]);
    let handle = Handle::builder(&secret, store()).ttl(TTL).build().unwrap();
    let shown = format!("{handle:?}");
    assert!(shown.contains("node_id"), "{shown}");
    for of_secret in ["171, 171", "abab"] {
        assert!(!shown.to_lowercase().contains(of_secret), "{shown}");
    }
}

/// Two tests of one program, each with a store of its own and the secret of all tests.
#[test]
fn stores_on_the_systems_clock_begin_at_different_node_ids() {
    let first = || {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let store = MemoryStore::with_system_clock(namespace);
        let ids = Handle::builder(&Secret::from_bytes([7; 16]), store)
            .build()
            .unwrap();
        ids.inspect(ids.generate().unwrap()).node_id
    };
    let node_ids: BTreeSet<_> = (0..8).map(|_| first()).collect();
    // Of 131,072: that four of eight are equal is impossible for a working random source.
    assert!(node_ids.len() > 4, "{node_ids:?}");
}
