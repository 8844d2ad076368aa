//! When a secret is claimed, and what a crash between the claim and the namespace's record leaves.

use core::time::Duration;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::rules::{Key, KeyCheck};

use super::engine::Map;

const TTL: u64 = 60;

fn map() -> Map {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    map
}

fn open(map: &Map, namespace: &Namespace) -> LeaseStore {
    let mut store = map.open(namespace);
    store.set_key_check(KeyCheck::Key(7));
    store
}

fn named(name: &str) -> Namespace {
    Namespace::new(name, Randflake).unwrap()
}

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    let asked = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    };
    Ok(store.acquire(&asked)?.grants[0])
}

#[test]
fn secret_is_claimed_once() {
    let map = map();
    let mut store = open(&map, &named("orders"));
    store.check().unwrap();
    assert_eq!(map.state().claims_asked, 0);
    let grant = acquire(&mut store).unwrap();
    assert_eq!(map.state().claims_asked, 1);
    store.renew(&[grant], TTL).unwrap();
    store.release(&[grant]).unwrap();
    let mut another = open(&map, &named("orders"));
    another.check().unwrap();
    acquire(&mut another).unwrap();
    another.administration().start_quarantine().unwrap();
    assert_eq!(map.state().claims_asked, 1);
}

#[test]
fn crash_after_a_claim_leaves_a_usable_namespace() {
    let map = map();
    map.state().fails_to_write = true;
    acquire(&mut open(&map, &named("orders"))).unwrap_err();
    assert!(map.state().has_claims_alone());
    map.state().fails_to_write = false;

    // It is the namespace's that was about to be made, and of any other for which that is meant.
    let other = &map.other_namespace();
    let refused = acquire(&mut open(other, &named("users"))).unwrap_err();
    assert!(
        matches!(refused, StoreError::SecretTaken { .. }),
        "{refused:?}"
    );
    assert!(other.state().has_claims_alone());
    acquire(&mut open(other, &named("users").with_shared_secret())).unwrap();
    acquire(&mut open(&map, &named("orders"))).unwrap();
}

#[test]
fn unreadable_claim_is_refused() {
    let map = map();
    let rotten = "rotten".to_owned();
    map.state().texts.insert(Key::Claim(7), rotten);
    let refused = acquire(&mut open(&map, &named("orders"))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the map: the claim of the secret of check value 00000007: it is another program's"
    );
    assert!(map.state().has_claims_alone());
}
