use harness::redis::RedisServer;
use randflake_core::{Any, Bits64, Id, Kind, StoredRaw};
use redis::{Client, Commands, Connection, RedisResult};

use crate::kinds::{ID, IDS, NO_USERS, Order, User, UserId};

fn connect(server: &RedisServer) -> Connection {
    Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap()
}

fn round_trips<K: Kind<Width = Bits64>>(redis: &mut Connection) {
    for id in IDS.map(Id::typed::<K>) {
        () = redis.set(id, id).unwrap();
        assert_eq!(redis.get::<_, Id<K>>(id).unwrap(), id);
        assert_eq!(
            redis.get::<_, String>(id.to_string()).unwrap(),
            id.to_string()
        );
    }
    let ids = IDS.map(Id::typed::<K>).to_vec();
    () = redis.rpush("list", &ids).unwrap();
    assert_eq!(redis.lrange::<_, Vec<Id<K>>>("list", 0, -1).unwrap(), ids);
    assert_eq!(redis.mget::<_, Vec<Id<K>>>(&ids).unwrap(), ids);
    assert_eq!(redis.get::<_, Option<Id<K>>>("nothing").unwrap(), None);
    () = redis.del("list").unwrap();
}

#[test]
fn ids_are_text_in_keys_and_values() {
    let server = RedisServer::start();
    let mut redis = connect(&server);
    round_trips::<Any>(&mut redis);
    round_trips::<User>(&mut redis);

    let stored = StoredRaw::<Order>::new(ID.typed()).unwrap();
    () = redis.set("order", stored).unwrap();
    assert_eq!(
        redis.get::<_, String>("order").unwrap(),
        "order_3vgoe12ccb8gh"
    );
    assert_eq!(redis.get::<_, StoredRaw<Order>>("order").unwrap(), stored);
}

#[test]
fn other_values_are_refused() {
    let server = RedisServer::start();
    let mut redis = connect(&server);
    let refused = |result: RedisResult<UserId>| result.unwrap_err().to_string();
    for (text, why) in NO_USERS {
        () = redis.set("user", text).unwrap();
        let error = refused(redis.get("user"));
        assert!(error.contains(why), "{text}: {error}");
    }
    let error = refused(redis.incr("counter", 1));
    assert!(error.contains("as user_3vgoe12ccb8gh"), "{error}");
    let error = refused(redis.get("nothing"));
    assert!(error.contains("as user_3vgoe12ccb8gh"), "{error}");
}
