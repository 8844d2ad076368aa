//! A secret for each kind of ids: equal raw ids become different ones.

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::randflake_core::Codec;
use randflake_std::{ExactSystemClock, Handle, Kind, Parts, Randflake, Secret, typed_id};

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
