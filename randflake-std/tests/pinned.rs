//! Node ids of the holders' choice, in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, MemoryStore, Namespace, Pinned, StoreError, Token,
};
use randflake_std::{Layout, Sonyflake, randflake_core};

const HOUR_TICKS: u64 = 360_000;

struct Server {
    clock: Arc<ManualClock>,
    store: MemoryStore,
    namespace: Namespace,
}

impl Server {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at_unix_ms(Sonyflake::SPEC.unix_ms(HOUR_TICKS)));
        let namespace = Namespace::of::<Sonyflake>("orders").unwrap();
        let store = MemoryStore::new(namespace.clone(), Arc::clone(&clock));
        Self {
            clock,
            store,
            namespace,
        }
    }

    fn pinned(&self, node_id: u32) -> Result<Pinned<MemoryStore>, StoreError> {
        Pinned::open(&self.namespace, node_id, |one| self.store.open(one.clone()))
    }
}

fn acquire(store: &mut impl LeaseStore, holder: &str) -> Result<Grant, StoreError> {
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder,
        count: 1,
        ttl: 6_000,
    };
    Ok(store.acquire(&request)?.grants[0])
}

#[test]
fn a_chosen_node_id_has_one_holder_at_a_time() {
    let server = Server::new();
    let (mut first, mut second) = (server.pinned(4_711).unwrap(), server.pinned(4_711).unwrap());
    let grant = acquire(&mut first, "first").unwrap();
    assert_eq!((grant.node_id, grant.start), (4_711, HOUR_TICKS));
    assert!(matches!(
        acquire(&mut second, "second"),
        Err(StoreError::Exhausted { retry_in }) if retry_in.as_secs() == 60
    ));
    // Others have others.
    let mut other = server.pinned(65_535).unwrap();
    assert_eq!(acquire(&mut other, "other").unwrap().node_id, 65_535);

    server.clock.advance_ms(30_000);
    let renewed = first.renew(&[grant], 6_000).unwrap();
    assert_eq!(renewed.ends, [Some(grant.end + 3_000)]);
    assert_eq!(second.list().unwrap()[0].grant.node_id, 4_711);
    assert_eq!(second.list().unwrap()[0].holder, "first");

    // A release is that of the grant, and the next lease begins where it ended.
    let end = HOUR_TICKS + 3_001;
    first.release(&[Grant { end, ..grant }]).unwrap();
    server.clock.advance_ms(10);
    let next = acquire(&mut second, "second").unwrap();
    assert_eq!((next.node_id, next.start), (4_711, end));
    assert!(next.fencing_token > grant.fencing_token);
    assert_eq!(first.renew(&[grant], 6_000).unwrap().ends, [None]);
}

/// A grant of another node id is nobody's here: it is neither renewed nor released as if it were this.
#[test]
fn a_grant_of_another_node_id_is_not_held() {
    let server = Server::new();
    let mut store = server.pinned(1).unwrap();
    let grant = acquire(&mut store, "holder").unwrap();
    let foreign = Grant {
        node_id: 2,
        ..grant
    };
    server.clock.advance_ms(10_000);
    let renewed = store.renew(&[foreign, grant], 6_000).unwrap();
    assert_eq!(renewed.ends, [None, Some(grant.end + 1_000)]);
    store.release(&[foreign]).unwrap();
    assert!(acquire(&mut server.pinned(1).unwrap(), "second").is_err());
}

#[test]
fn what_cannot_be_chosen_is_said() {
    let server = Server::new();
    let said = |result: Result<Pinned<MemoryStore>, StoreError>| result.unwrap_err().to_string();
    assert_eq!(
        said(server.pinned(65_536)),
        "node id 65536 is out of range: 0 to 65535 are allowed"
    );
    let long = Namespace::of::<Sonyflake>(&"a".repeat(60)).unwrap();
    let open = |one: &Namespace| server.store.open(one.clone());
    assert_eq!(
        said(Pinned::open(&long, 1, open)),
        format!(
            "namespace \"{}-node-1\": 1 to 64 characters of a-z, 0-9, '-' and '_' are allowed",
            "a".repeat(60)
        )
    );
    let two = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "two",
        count: 2,
        ttl: 1,
    };
    assert_eq!(
        server
            .pinned(1)
            .unwrap()
            .acquire(&two)
            .unwrap_err()
            .to_string(),
        "2 node ids asked for: 1 to 1 are allowed"
    );
}
