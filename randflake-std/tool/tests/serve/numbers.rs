//! Ids of 53 bits by the protocol of Redis.

use std::collections::BTreeSet;

use crate::server::{Home, Server};

/// What JavaScript's clients read of `INCR` is a number of floating point.
#[test]
fn ids_of_53_bits_are_integers_that_no_client_rounds() {
    let home = Home::new();
    let server = Server::start_with(home, &["--layout", "randflake53"]);
    let mut client = server.connect();
    let mut numbers = BTreeSet::new();
    for _ in 0..200 {
        let reply = client.ask(&["INCR", "randflake53"]);
        let number: u64 = reply[1..].trim().parse().unwrap();
        assert!(number < 1 << 53 && numbers.insert(number), "{reply}");
    }
    let first = numbers.first().unwrap().to_string();
    let inspect = |number| ["ID.INSPECT", "randflake53", number, "FORMAT", "int"];
    let reply = client.ask(&inspect(&first));
    assert!(reply.contains("number"), "{reply}");
    let reply = client.ask(&inspect("9007199254740992"));
    assert!(
        reply.contains("is out of range: 0 to 9007199254740991, 53 bits"),
        "{reply}"
    );
}
