//! Tokens: who gets what.

use crate::client::Answer;
use crate::server::Server;

fn server() -> (Server, [String; 4]) {
    let (server, tokens) = Server::with_tokens(&[
        ["ids", "ids", "default"],
        ["leases", "leases", "default"],
        ["inspect", "inspect", "default"],
        ["admin", "admin", "other"],
    ]);
    (server, tokens.try_into().unwrap())
}

#[test]
fn a_token_of_namespaces_that_are_not_served_is_told_so() {
    let (server, tokens) = Server::with_tokens(&[["shop", "ids", "orders"]]);
    for (path, status, kind) in [
        ("/v1/ids", 400, "invalid"),
        ("/v1/ids?namespace=orders", 404, "unknown_namespace"),
    ] {
        let detail = server.get_as(&tokens[0], path).problem(status, kind);
        let told = "none of those that the token \"shop\" may use is served here";
        assert!(detail.contains(told), "{detail}");
    }
}

#[test]
fn a_token_gets_what_its_scopes_and_namespaces_have() {
    let (server, [ids, leases, inspect, admin]) = server();
    let paths = [
        "/v1/ids?namespace=default",
        "/v1/leases?namespace=default",
        "/v1/inspect?namespace=default&id=1",
        "/v1/status",
        "/metrics",
        "/v1/ids?namespace=other",
        "/v1/leases?namespace=other",
        "/v1/inspect?namespace=other&id=1",
        "/v1/ids?namespace=missing",
    ];
    for (token, name, allowed) in [
        (
            &ids,
            "ids",
            [true, false, false, false, false, false, false, false, false],
        ),
        (
            &leases,
            "leases",
            [false, true, false, false, false, false, false, false, false],
        ),
        (
            &inspect,
            "inspect",
            [false, false, true, false, false, false, false, false, false],
        ),
        (
            &admin,
            "admin",
            [false, false, false, true, true, false, true, false, false],
        ),
    ] {
        for (path, allowed) in paths.iter().zip(allowed) {
            let answer = server.get_as(token, path);
            if allowed {
                assert_eq!(answer.status, 200, "{name} {path}: {}", answer.text());
            } else {
                // Whether there is such a namespace is not said either.
                let detail = answer.problem(403, "forbidden");
                assert!(detail.contains(name), "{path}: {detail}");
            }
        }
    }
}

#[test]
fn who_sees_one_namespace_learns_nothing_of_the_other() {
    let (server, [.., admin]) = server();
    for path in ["/v1/status", "/metrics"] {
        let answer = server.get_as(&admin, path);
        assert!(answer.text().contains("\"other\""), "{path}");
        assert!(
            !answer.text().contains("\"default\""),
            "{path}: {}",
            answer.text()
        );
    }
    // The one that it sees need not be named.
    assert_eq!(
        server.get_as(&admin, "/v1/leases").json(200)["namespace"],
        "other"
    );
}

#[test]
fn nothing_is_answered_without_a_token_but_what_everybody_may_know() {
    let (server, [token, ..]) = server();
    for path in [
        "/v1/ids",
        "/v1/leases",
        "/v1/inspect?id=1",
        "/v1/status",
        "/metrics",
    ] {
        let answer = server.get(path);
        answer.problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for path in ["/", "/page/main.js", "/openapi.json", "/healthz", "/readyz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for value in [
        "Bearer x",
        "Bearer",
        "Bearer ",
        "bearer",
        "Basic eDp5",
        "",
        &format!("Basic {token}"),
    ] {
        let answer = server.request("GET", "/v1/ids", &[("authorization", value)], "");
        let detail = answer.problem(401, "wrong_token");
        assert!(!detail.contains(&token), "{detail}");
        assert_eq!(
            answer.header("www-authenticate"),
            Some("Bearer error=\"invalid_token\"")
        );
    }
    let lower = format!("bearer  {token} ");
    let answer = server.request("GET", "/v1/ids", &[("authorization", &lower)], "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let two = format!("Bearer {token}");
    let twice = [("authorization", &*two), ("authorization", &*two)];
    server
        .request("GET", "/v1/ids", &twice, "")
        .problem(400, "invalid");
}

#[test]
fn a_token_in_the_url_is_a_parameter_that_is_not_known() {
    let (server, [token, ..]) = server();
    let answer = server.get(&format!("/v1/ids?token={token}"));
    answer.problem(401, "unauthenticated");
    assert!(!answer.text().contains(&token));
}

#[test]
fn a_web_page_of_another_site_gets_nothing_where_no_token_is_needed() {
    let server = Server::start();
    let status = |host: &str, more: &str| {
        let request =
            format!("GET /v1/ids HTTP/1.1\r\nhost: {host}\r\n{more}connection: close\r\n\r\n");
        let answer = server.send(request.as_bytes());
        Answer::read(&answer).unwrap()
    };
    // Of a target that is a whole URL, the header does not count.
    let of_target = |host: &str| {
        let request = format!(
            "GET http://{host}/v1/ids HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            server.address
        );
        Answer::read(&server.send(request.as_bytes())).unwrap()
    };
    assert_eq!(of_target("localhost").status, 200);
    let detail = of_target("rebound.example").problem(403, "forbidden");
    assert!(detail.contains("Host"), "{detail}");
    let own = server.address.clone();
    for (host, more) in [
        (&*own, String::new()),
        ("localhost:1", String::new()),
        ("[::1]:1", String::new()),
        (&own, format!("origin: http://{own}\r\n")),
        (&own, "sec-fetch-site: same-origin\r\n".to_owned()),
        (&own, "sec-fetch-site: none\r\n".to_owned()),
    ] {
        assert_eq!(status(host, &more).status, 200, "{host} {more}");
    }
    // A name that its owner lets lead to 127.0.0.1, and a page that sends a form.
    for (host, more, told) in [
        ("rebound.example", "", "Host"),
        (
            "127.0.0.1.rebound.example:8080",
            "origin: http://127.0.0.1.rebound.example:8080\r\n",
            "Host",
        ),
        (&own, "origin: https://evil.example\r\n", "Origin"),
        (&own, "origin: null\r\n", "Origin"),
        // A picture of that page, whose requests have no Origin.
        (&own, "sec-fetch-site: cross-site\r\n", "Sec-Fetch-Site"),
        (&own, "sec-fetch-site: same-site\r\n", "Sec-Fetch-Site"),
    ] {
        let detail = status(host, more).problem(403, "forbidden");
        assert!(detail.contains(told), "{detail}");
    }
    // A browser adds no token by itself: who sends one may come from anywhere.
    let (server, [ids, ..]) = self::server();
    let request = format!(
        "GET /v1/ids?namespace=default HTTP/1.1\r\nhost: ids.example\r\norigin: https://shop.example\r\n\
         authorization: Bearer {ids}\r\nconnection: close\r\n\r\n"
    );
    let answer = Answer::read(&server.send(request.as_bytes())).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}
