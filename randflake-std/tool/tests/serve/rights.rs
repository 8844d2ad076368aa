//! Tokens: who gets what.

use std::fs;

use crate::server::{Home, Server, wait_until};

/// Two namespaces, each with a secret of its own.
fn two_namespaces(home: &Home) -> String {
    home.ask(&["keygen", "--out", "orders.key"]);
    home.ask(&["keygen", "--out", "users.key"]);
    home.write(
        "namespaces",
        "# What is served.\nname=orders key-file=orders.key\nname=users key-file=users.key layout=randflake\n\
         name=events layout=snowflake\n",
    )
}

#[test]
fn a_token_gets_nothing_of_another_namespace() {
    let home = Home::new();
    two_namespaces(&home);
    let orders = home.token("shop", "ids,leases,inspect", "orders", &[]);
    let ids = home.token("reader", "ids", "orders,users", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens", "--namespaces", "namespaces"]);

    let mut nobody = server.connect();
    for words in [
        &["PING"][..],
        &["INCR", "orders"],
        &["INFO"],
        &["COMMAND"],
        &["LEASE.LIST", "orders"],
        &["CLIENT", "ID"],
        &["HELLO", "3"],
    ] {
        let told = nobody.ask(words);
        assert!(told.starts_with("-NOAUTH "), "{words:?}: {told}");
    }
    let hash = "sha256=".to_owned();
    let kept = fs::read_to_string(server.home().path("tokens")).unwrap();
    let (_, hash) = kept.split_once(&hash).unwrap();
    for wrong in ["", "x", &orders[..orders.len() - 1], &hash[..64]] {
        assert!(nobody.ask(&["AUTH", wrong]).starts_with("-WRONGPASS "));
    }
    assert!(
        nobody
            .ask(&["AUTH", "other", &orders])
            .starts_with("-WRONGPASS ")
    );
    assert!(nobody.ask(&["INCR", "orders"]).starts_with("-NOAUTH "));

    let mut shop = server.connect_as(&orders);
    assert!(shop.ask(&["INCR", "orders"]).starts_with(':'));
    let lease = shop.ask(&["LEASE.ACQUIRE", "orders"]).replace("\\\"", "\"");
    let foreign = lease.replace("\"orders\"", "\"users\"");
    for words in [
        &["INCR", "users"][..],
        &["GET", "users"],
        &["MGET", "orders", "users"],
        &["ID.NEXT", "users", "COUNT", "10"],
        &["ID.INSPECT", "users", "1"],
        &["LEASE.ACQUIRE", "users"],
        &["LEASE.RENEW", &foreign, "REQUEST", "renewal-1"],
        &["LEASE.RELEASE", &foreign, "REQUEST", "release-1"],
        &["LEASE.LIST", "users"],
        // Who may not does not learn whether it is there.
        &["INCR", "nothing"],
    ] {
        let told = shop.ask(words);
        assert!(told.starts_with("-NOPERM "), "{words:?}: {told}");
    }
    let info = shop.ask(&["INFO"]);
    for others in ["users", "connected_clients", "memory", "total_", "issued"] {
        assert!(!info.contains(others), "{info}");
    }
    // Tools read these of any server before they do anything.
    for field in ["redis_version:", "arch_bits:", "cluster_enabled:0"] {
        assert!(info.contains(field), "{info}");
    }

    let mut reader = server.connect_as(&ids);
    assert!(reader.ask(&["ID.NEXT", "users"]).len() > 10);
    for words in [
        &["LEASE.ACQUIRE", "orders"][..],
        &["LEASE.RENEW", &lease, "REQUEST", "renewal-1"],
        &["LEASE.LIST", "orders"],
        &["ID.INSPECT", "orders", "1"],
        &["INCR", "events"],
    ] {
        let told = reader.ask(words);
        assert!(told.starts_with("-NOPERM "), "{words:?}: {told}");
    }
    // Tokens are nowhere but with their owners.
    for file in ["tokens", "log"] {
        let text = fs::read_to_string(server.home().path(file)).unwrap();
        assert!(!text.contains(&orders) && !text.contains(&ids), "{file}");
    }
}

#[test]
fn what_changes_in_the_file_counts_for_open_connections() {
    let home = Home::new();
    let first = home.token("first", "ids", "default", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut client = server.connect_as(&first);
    assert!(client.ask(&["INCR", "default"]).starts_with(':'));

    // Without a signal.
    let second = server.home().token("second", "ids", "default", &[]);
    wait_until("the new token is not known", || {
        server.connect().ask(&["AUTH", &second]) == "+OK"
    });
    let mut other = server.connect_as(&second);

    // A file that is wrong changes nothing.
    let tokens = fs::read_to_string(server.home().path("tokens")).unwrap();
    server
        .home()
        .write("tokens", &tokens.replace("scopes=ids", "scopes=everything"));
    server.signal(libc::SIGHUP);
    server.home().wait_for("the tokens stay as they were");
    assert!(client.ask(&["INCR", "default"]).starts_with(':'));

    // The first is revoked.
    let kept: Vec<_> = tokens
        .lines()
        .filter(|line| !line.contains("name=first"))
        .collect();
    server.home().write("tokens", &kept.join("\n"));
    server.signal(libc::SIGHUP);
    wait_until("the old token is still known", || {
        client.ask(&["INCR", "default"]).starts_with("-NOAUTH ")
    });
    assert!(other.ask(&["INCR", "default"]).starts_with(':'));
}

#[test]
fn quotas_are_of_a_token_and_not_of_a_connection() {
    let home = Home::new();
    // So few that a test of any length does not get them back.
    let few = home.token("few", "ids", "default", &["--ids-per-second", "1000"]);
    let all = home.token("all", "ids", "default", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut clients = [server.connect_as(&few), server.connect_as(&few)];
    let told = clients[0].ask(&["ID.NEXT", "default", "COUNT", "1001"]);
    assert!(
        told.starts_with(
            "-TRYAGAIN the token \"few\" has a quota of 1000 ids a second, and 1001 were"
        ),
        "{told}"
    );
    // A second's come back in a second: faster than they are asked for they do not.
    let refused = (0..1_000_000).find_map(|turn| {
        let told = clients[turn % 2].ask(&["ID.NEXT", "default", "COUNT", "900"]);
        told.starts_with('-').then_some(told)
    });
    let refused = refused.unwrap();
    assert!(
        refused.contains("has a quota of 1000 ids a second: try again in"),
        "{refused}"
    );
    assert!(
        !server
            .connect_as(&all)
            .ask(&["ID.NEXT", "default", "COUNT", "2000"])
            .starts_with('-')
    );
}

#[test]
fn a_quota_of_leases_is_for_new_ones() {
    let home = Home::new();
    let none = [
        "token",
        "new",
        "--name",
        "none",
        "--scopes",
        "leases",
        "--namespaces",
        "default",
        "--leases-per-second",
        "0",
    ];
    let output = home.tool(&none).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("1 to 18446744073709551615 are allowed"),
        "{told}"
    );
    let quota = ["--leases-per-second", "2"];
    let few = home.token("few", "leases", "default", &quota);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut clients = [server.connect_as(&few), server.connect_as(&few)];
    let told = clients[0].ask(&["LEASE.ACQUIRE", "default", "COUNT", "3"]);
    assert!(
        told.starts_with(
            "-TRYAGAIN the token \"few\" has a quota of 2 leases a second, and 3 were"
        ),
        "{told}"
    );
    let mut held = String::new();
    let refused = (0..1_000_000).find_map(|turn| {
        let told = clients[turn % 2].ask(&["LEASE.ACQUIRE", "default", "COUNT", "2"]);
        let is_refused = told.starts_with('-');
        if !is_refused {
            held = told.replace("\\\"", "\"");
            return None;
        }
        Some(told)
    });
    let refused = refused.unwrap();
    assert!(refused.contains("try again in"), "{refused}");
    let renewed = clients[0].ask(&["LEASE.RENEW", &held, "REQUEST", "renewal-1"]);
    assert!(!renewed.starts_with('-'), "{renewed}");
}

#[test]
fn a_file_of_another_s_length_and_time_is_read() {
    let home = Home::new();
    let second = home.token("second", "ids", "default", &[]);
    fs::rename(home.path("tokens"), home.path("next")).unwrap();
    let first = home.token("before", "ids", "default", &[]);
    let (old, new) = (home.path("tokens"), home.path("next"));
    let time = fs::metadata(&old).unwrap().modified().unwrap();
    let next = fs::OpenOptions::new().write(true).open(&new).unwrap();
    next.set_modified(time).unwrap();
    let len = |path| fs::metadata(path).unwrap().len();
    assert_eq!(len(&old), len(&new));
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut client = server.connect_as(&first);
    fs::rename(new, old).unwrap();
    wait_until("the revoked token is still known", || {
        client.ask(&["INCR", "default"]).starts_with("-NOAUTH ")
    });
    server.connect_as(&second);
}

/// `explain` names who held a lease: a token that calls itself another, or a process of this machine, is still told.
#[test]
fn a_holder_cannot_pass_for_another() {
    let home = Home::new();
    let token = home.token("shop", "leases", "default", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut shop = server.connect_as(&token);
    let process = format!("machine/{}", std::process::id());
    for (asked, shown) in [
        (None, "token/shop/"),
        (Some("import"), "token/shop:import/"),
        (Some("token/billing"), "token/shop:token/billing/"),
        (Some(&*process), &*format!("token/shop:{process}/")),
    ] {
        let name = asked.map_or(Vec::new(), |name| vec!["HOLDER", name]);
        let words = [&["LEASE.ACQUIRE", "default"], &name[..]].concat();
        let granted = shop.ask(&words).replace("\\\"", "\"");
        let holder = format!("\"holder\":\"{shown}");
        assert!(granted.contains(&holder), "{asked:?}: {granted}");
    }
    let long = "x".repeat(49);
    let told = shop.ask(&["LEASE.ACQUIRE", "default", "HOLDER", &long]);
    assert!(told.contains("1 to 48 bytes"), "{told}");
}

/// Who removes the file means to revoke what is in it.
#[test]
fn that_the_file_is_gone_is_said() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let path = server.home().path("tokens");
    fs::rename(&path, server.home().path("away")).unwrap();
    let told = "warning: the tokens stay as they were, revoked ones too, until their file is right: the tokens, tokens: ";
    server.home().wait_for(told);
    assert!(
        server
            .connect_as(&token)
            .ask(&["INCR", "default"])
            .starts_with(':')
    );
    fs::rename(server.home().path("away"), &path).unwrap();
    server
        .home()
        .wait_for("the tokens were read again: 1, before 1");
    assert_eq!(server.home().log().matches(told).count(), 1);
}

/// What all clients do together is for who administers all namespaces.
#[test]
fn totals_are_for_administrators_of_all() {
    let home = Home::new();
    two_namespaces(&home);
    let some = home.token("some", "ids,admin", "orders", &[]);
    let all = home.token("all", "ids,admin", "*", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens", "--namespaces", "namespaces"]);
    let mut some = server.connect_as(&some);
    some.ask(&["INCR", "orders"]);
    let info = some.ask(&["INFO"]);
    assert!(info.contains("namespace_orders:ready=1,issued=1"), "{info}");
    assert!(
        !info.contains("connected_clients") && !info.contains("total_"),
        "{info}"
    );
    let info = server.connect_as(&all).ask(&["INFO"]);
    assert!(info.contains("connected_clients"), "{info}");
    // Nor does the number of a connection tell how many there were.
    let ids: Vec<_> = (0..4)
        .map(|_| server.connect_as(&all).ask(&["CLIENT", "ID"]))
        .map(|id| id.trim_start_matches(':').parse::<u64>().unwrap())
        .collect();
    assert!(
        ids.windows(2).any(|pair| pair[0].abs_diff(pair[1]) > 1_000),
        "{ids:?}"
    );
}
