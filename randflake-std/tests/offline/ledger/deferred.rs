//! What a store that is opened later keeps of what it was told before; and whose clock an opened one compares.

use core::time::Duration;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token, deferred,
};
use randflake_std::unstable::rules::{Key, KeyCheck, Loss};

use super::engine::Map;

const TTL: u64 = 60;

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

fn map() -> Map {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    map
}

fn open(map: &Map) -> LeaseStore {
    let map = map.clone();
    deferred(&namespace(), move |namespace| {
        Ok::<_, StoreError>(map.open(namespace))
    })
}

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    })?;
    Ok(acquired.grants[0])
}

#[test]
fn a_key_that_was_named_before_is_claimed() {
    let map = map();
    let mut store = open(&map);
    store.set_key_check(KeyCheck::Key(7));
    acquire(&mut store).unwrap();
    assert!(map.state().texts.contains_key(&Key::Claim(7)));
}

#[test]
fn node_ids_that_were_set_before_are_kept_to() {
    let mut store = open(&map());
    store.lease_within(3..=3);
    assert_eq!(acquire(&mut store).unwrap().node_id, 3);
    let refused = acquire(&mut store).unwrap_err();
    assert!(
        matches!(refused, StoreError::Exhausted { .. }),
        "{refused:?}"
    );
}

/// What a client of a server says to have had closes nothing; what a holder had does.
#[test]
fn a_server_stays_one() {
    for is_proxy in [true, false] {
        let map = map();
        let mut store = open(&map);
        if is_proxy {
            store.act_as_proxy();
        }
        let grant = acquire(&mut store).unwrap();
        map.state().texts.remove(&Key::Node(grant.node_id));
        let renewed = store.renew(&[grant], TTL).unwrap();
        assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
        let quarantined = store.administration().current_quarantine().unwrap();
        assert_eq!(quarantined.is_none(), is_proxy, "{quarantined:?}");
    }
}

/// The clock of a file is this machine's own.
#[test]
fn a_clock_that_is_another_machine_s_is_compared() {
    for has_own_clock in [false, true] {
        let map = map();
        map.state().has_own_clock = has_own_clock;
        let mut store = LeaseStore::opened(map.clone(), namespace()).unwrap();
        assert_eq!(store.is_on_server(), has_own_clock);
        let outcome = acquire(&mut store);
        let is_skewed = matches!(outcome, Err(StoreError::ClockSkew { .. }));
        assert_eq!(is_skewed, has_own_clock, "{outcome:?}");
        assert!(!map.state().is_locked);
    }
}
