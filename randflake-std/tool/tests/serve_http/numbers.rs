//! `/v1/numbers`: numbers of counters.

use crate::server::Server;

#[test]
fn numbers_are_of_the_counter_that_an_operator_has_begun() {
    let (server, tokens) = Server::with_token_options(&[
        (
            ["shop", "ids", "default,other"],
            &["--ids-per-second", "20"],
        ),
        (["lessee", "leases", "*"], &[]),
    ]);
    let get = |path: &str| server.get_as(&tokens[0], path);
    let path = "/v1/numbers?namespace=default";
    let told = get(path).problem(503, "failed");
    assert!(
        told.contains("no counter") && told.contains("segment init"),
        "{told}"
    );
    assert!(!told.contains("sqlite"), "{told}");
    let init = |name, options: &[&str]| {
        let init = ["segment", "init", "--no-wait", "--namespace", name];
        let output = server.tool().args(init).args(options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    init("default", &["--daily", "--digits", "1"]);
    init("other", &["--from", "2", "--step", "5"]);

    let answer = get(&format!("{path}&count=3")).json(200);
    assert_eq!(answer["namespace"], "default");
    let numbers = answer["numbers"].as_array().unwrap();
    assert_eq!(numbers.len(), 3);
    let text = numbers[0]["text"].as_str().unwrap();
    assert!(text.starts_with("20") && text.ends_with("-1"), "{answer}");
    assert_eq!(numbers[0]["int"], text.replace('-', ""));
    let told = get(&format!("{path}&count=9")).problem(503, "busy");
    assert!(told.contains("of its 9 numbers left"), "{told}");
    assert!(!told.contains("sqlite"), "{told}");

    let steps = get("/v1/numbers?namespace=other&count=2").json(200);
    let text = |at: usize| steps["numbers"][at]["text"].clone();
    assert_eq!([text(0), text(1)], ["2", "7"]);
    for count in ["0", "1001", "x"] {
        get(&format!("{path}&count={count}")).problem(400, "invalid");
    }
    get("/v1/numbers?namespace=events").problem(403, "forbidden");
    server.get_as(&tokens[1], path).problem(403, "forbidden");
    // The quota of ids.
    let told = (0..30).find_map(|_| {
        let answer = get("/v1/numbers?namespace=other&count=20");
        (answer.status != 200).then(|| answer.problem(429, "quota"))
    });
    assert!(told.unwrap().contains("ids"));
}
