//! Ids of 53 bits, and numbers of counters, by the protocol of Redis.

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

#[test]
fn numbers_of_a_counter_are_texts_or_integers() {
    let server = Server::start();
    let mut client = server.connect();
    let told = client.ask(&["NUMBER.NEXT", "default"]);
    assert!(
        told.starts_with("-ERR the namespace has no counter"),
        "{told}"
    );
    let init = ["segment", "init", "--no-wait", "--daily"];
    let output = server.home().tool(&init).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let first = client.ask(&["NUMBER.NEXT", "default"]);
    assert!(
        first.starts_with("20") && first.ends_with("-000001"),
        "{first}"
    );
    let two = client.ask(&["number.next", "default", "FORMAT", "int", "COUNT", "2"]);
    assert!(two.starts_with(":20") && two.contains(" :20"), "{two}");
    for (wrong, part) in [
        (&["COUNT", "0"][..], "1 to 1000 are allowed"),
        (&["COUNT", "x"], "in digits only"),
        (&["COUNT"], "in digits only"),
        (&["FORMAT", "raw"], "FORMAT takes text or int"),
        (&["LIMIT", "1"], "syntax error: NUMBER.NEXT"),
    ] {
        let told = client.ask(&[&["NUMBER.NEXT", "default"][..], wrong].concat());
        assert!(told.starts_with("-ERR") && told.contains(part), "{told}");
    }
}
