//! Ids of 53 bits.

use serde_json::Value;

use crate::user::{KEY, User, objects, words};

const MAX: u64 = 9_007_199_254_740_991;

/// Those of the secret that tests use.
fn vectors() -> Vec<Value> {
    let vectors = include_str!("../../../../randflake-core/tests/vectors/randflake53.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    let mut ours: Vec<_> = vectors.into_iter().collect();
    ours.retain(|vector| vector["secret"] == KEY);
    assert_eq!(ours.len(), 20);
    ours
}

fn column(vectors: &[Value], name: &str) -> String {
    let lines = vectors.iter().map(|vector| format!("{}\n", vector[name]));
    lines.collect::<String>().replace('"', "")
}

#[test]
fn the_vectors_are_composed_inspected_and_converted() {
    let (user, vectors) = (User::new(), vectors());
    let inspect = words("inspect --layout randflake53 --from int --json");
    let told = user.run_on(column(&vectors, "id").as_bytes(), &inspect);
    for (told, vector) in objects(&told.ok()).iter().zip(&vectors) {
        for (ours, theirs) in [
            ("number", "id"),
            ("text", "text"),
            ("time", "timestamp"),
            ("node", "node_id"),
            ("sequence", "sequence"),
        ] {
            assert_eq!(told[ours], vector[theirs], "{vector}");
        }
        let [time, node, sequence] =
            ["timestamp", "node_id", "sequence"].map(|name| vector[name].to_string());
        let compose = words("compose --layout randflake53 --format int");
        let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
        let id = user.run_keyed(&[&compose[..], &fields].concat()).ok();
        assert_eq!(id.trim(), vector["id"].to_string());
    }
    let (ids, raws) = (column(&vectors, "id"), column(&vectors, "raw_id"));
    let convert = words("convert --layout randflake53 --from int --to int");
    for (way, given, expected) in [("--decrypt", &ids, &raws), ("--encrypt", &raws, &ids)] {
        let told = user.run_on(given.as_bytes(), &[&convert[..], &[way]].concat());
        assert_eq!(told.ok(), *expected);
    }
    let key = user.run_keyed(&["keygen", "--key53"]).ok();
    assert_eq!(key.trim(), vectors[0]["key"]);
}

#[test]
fn new_ids_are_numbers_that_javascript_holds() {
    let user = User::new();
    let told = user.run_keyed(&words("generate -n 20000 --layout randflake53 --json"));
    let mut numbers: Vec<_> = objects(&told.ok())
        .iter()
        .map(|told| {
            assert_eq!(told["int"], told["number"].to_string());
            told["number"].as_u64().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 20_000);
    // Over all of the 53 bits.
    assert!(numbers[19_999] <= MAX && numbers[19_999] > MAX - MAX / 100);
    let listed = user.run(&words("lease namespaces")).ok();
    assert!(listed.contains("encrypted53 randflake53"), "{listed}");
}

#[test]
fn a_namespace_has_ids_of_one_form() {
    let user = User::new();
    let generate = |layout: &str| {
        let words = ["generate", "--namespace", "orders", "--layout", layout];
        user.run_keyed(&words)
    };
    let narrow = "custom:30,12,11@2024-10-27/1000";
    generate(&format!("encrypted53:{narrow}")).ok();
    let said = generate(&format!("encrypted:{narrow}")).fails(1);
    assert!(
        said.contains("it is stored with ids of 53 bits, the secret of check value ")
            && said.contains(", and opened with ids of 64 bits, the secret of check value "),
        "{said}"
    );
    let said = generate(narrow).fails(1);
    assert!(said.contains("opened with plain ids, no secret"), "{said}");
}

#[test]
fn what_javascript_would_round_is_refused() {
    let user = User::new();
    let number = (MAX + 1).to_string();
    let said = "id 9007199254740992 is out of range: 0 to 9007199254740991, 53 bits, are allowed";
    for command in [
        "inspect --layout randflake53 --from int",
        "convert --layout randflake53 --from int --to int --decrypt",
    ] {
        let mut command = words(command);
        command.extend(["31", &number]);
        let told = user.run_keyed(&command).fails(2);
        assert!(
            told.ends_with(said) || told.contains("the layout has no such id"),
            "{told}"
        );
    }
    let mut table = words("inspect --layout randflake53 --from int --csv --columns id,node");
    table.push(&number);
    let told = user.run_keyed(&table).fails(2);
    assert!(told.contains(said), "{told}");
    // A spreadsheet keeps 15 digits of 16, which is another id.
    let mut cut = words("inspect --layout randflake53 --from int --csv --columns id,node");
    let ids: Vec<_> = (0..9)
        .map(|row| (MAX / 10 * 10 - 1_000 * row).to_string())
        .collect();
    cut.extend(ids.iter().map(|id| &**id));
    let told = user.run_keyed(&cut).fails(2);
    let said =
        "the first 8 long ids end in 0, as a spreadsheet rounds them (such as 9007199254740990)";
    assert!(told.contains(said), "{told}");
    let wide = user.run_keyed(&words("generate --layout encrypted53:randflake"));
    let told = wide.fails(2);
    assert!(
        told.contains("the layout has 64 bits: encrypted53: takes one of at most 53"),
        "{told}"
    );
}
