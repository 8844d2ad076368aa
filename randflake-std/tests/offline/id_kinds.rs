//! Handles of 53-bit ids, and a secret for each kind of ids.

use std::collections::BTreeSet;

use randflake_std::lease::{MemoryStore, Namespace, StoreError};
use randflake_std::randflake_core::Codec;
use randflake_std::{
    BuildError, Builder, ExactSystemClock, Handle, Id, Id53, Kind, Parts, Randflake, Randflake53,
    Secret, typed_id,
};

fn store(namespace: &Namespace) -> MemoryStore {
    MemoryStore::with_system_clock(namespace.clone())
}

#[test]
fn a_handle_issues_numbers_of_53_bits() {
    let namespace = Namespace::new("orders", Randflake53).unwrap();
    let secret = Secret::generate().unwrap();
    let ids = Builder::encrypted53(Randflake53, &secret, store(&namespace))
        .build()
        .unwrap();
    let mut issued: BTreeSet<Id53> = (0..100).map(|_| ids.generate53().unwrap()).collect();
    let mut block = [Id::from_u64(0); 1_000];
    let filled = ids.fill(&mut block).unwrap();
    issued.extend(block[..filled].iter().map(|id| id.try_typed().unwrap()));
    assert_eq!(issued.len(), 100 + filled);
    let node_id = ids.lease().leases[0].node_id();
    for id in issued {
        assert_eq!(ids.inspect(id.untyped()).node_id, node_id);
    }
}

#[test]
fn two_forms_of_ids_are_not_in_one_namespace() {
    let namespace = Namespace::new("orders", Randflake53).unwrap();
    let store = store(&namespace);
    let secret = Secret::generate().unwrap();
    let _numbers = Builder::encrypted53(Randflake53, &secret, store.clone())
        .build()
        .unwrap();
    let error = Builder::encrypted(Randflake53, &secret, store).build();
    let Err(BuildError::Store(StoreError::Terms { stored, asked })) = error else {
        panic!("{error:?}");
    };
    assert!(stored.starts_with("ids of 53 bits, "), "{stored}");
    assert!(asked.starts_with("ids of 64 bits, "), "{asked}");
}

#[test]
fn a_layout_of_which_bits_would_show_is_refused() {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let secret = Secret::generate().unwrap();
    let error = Builder::encrypted53(Randflake, &secret, store(&namespace)).build();
    assert!(
        matches!(error, Err(BuildError::TooWide { bits: 64, max: 53 })),
        "{error:?}"
    );
}

enum User {}
typed_id!(UserId = Id<User>, "user");

enum Order {}
typed_id!(OrderId = Id<Order>, "order");

const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
const SAME: Parts = Parts {
    tick: 3_706_297,
    node_id: 42,
    sequence: 1,
};

fn codec<K: Kind>(secret: &Secret) -> Codec<Randflake> {
    Codec::new(Randflake, secret.derive(K::PREFIX).cipher())
}

#[test]
fn equal_raw_ids_of_two_kinds_differ() {
    let secret = Secret::from_hex(KEY).unwrap();
    let user: UserId = codec::<User>(&secret).compose(SAME).unwrap().typed();
    let order: OrderId = codec::<Order>(&secret).compose(SAME).unwrap().typed();
    assert_ne!(user.untyped(), order.untyped());

    let shared = Codec::new(Randflake, secret.cipher());
    let id = shared.compose(SAME).unwrap();
    assert!(
        id != user.untyped() && id != order.untyped(),
        "the secret itself is another one still"
    );
}

#[test]
fn a_handle_generates_the_ids_of_its_kind() {
    let secret = Secret::from_hex(KEY).unwrap();
    let namespace = Namespace::new(User::PREFIX, Randflake).unwrap();
    let store = MemoryStore::new(namespace, ExactSystemClock.into());
    let ids = Handle::builder(&secret.derive(User::PREFIX), store)
        .build()
        .unwrap();

    let user: UserId = ids.generate().unwrap().typed();
    assert_eq!(
        codec::<User>(&secret).inspect(user.untyped()),
        ids.inspect(user.untyped())
    );
    assert_ne!(
        codec::<Order>(&secret).inspect(user.untyped()),
        ids.inspect(user.untyped())
    );
    ids.close().unwrap();
}
