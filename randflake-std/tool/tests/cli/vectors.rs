//! Ids and texts of the original programs of other layouts.

use serde_json::Value;

use crate::user::{User, objects, words};

fn vectors(json: &str) -> Vec<Value> {
    let vectors: Vec<Value> = serde_json::from_str(json).unwrap();
    assert_eq!(vectors.len(), 40);
    vectors
}

fn snowflakes() -> Vec<Value> {
    vectors(include_str!(
        "../../../../randflake-core/tests/vectors/snowflake.json"
    ))
}

/// A column of the vectors, a line each.
fn column(vectors: &[Value], name: &str) -> String {
    let lines = vectors.iter().map(|vector| vector[name].as_str().unwrap());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn the_texts_of_bwmarrin_are_converted_into_each_other() {
    let (user, vectors) = (User::new(), snowflakes());
    let forms = [
        ("int", "id"),
        ("bytes", "id"),
        ("base2", "B2"),
        ("base32", "B32"),
        ("base36", "B36"),
        ("base58", "B58"),
        ("base64", "B64"),
    ];
    for (from, given) in forms {
        for (to, expected) in forms {
            let told = user.run_on(
                column(&vectors, given).as_bytes(),
                &["convert", "--from", from, "--to", to],
            );
            assert_eq!(told.ok(), column(&vectors, expected), "{from} to {to}");
        }
    }
    let convert = words("convert --from int --to base62 61 62 -1");
    assert_eq!(user.run(&convert).ok(), "z\n10\nLygHa16AHYF\n");
    let inspect = words("inspect --layout snowflake --from base58 --json 2JS2rjxmEG6");
    let told = objects(&user.run(&inspect).ok());
    assert_eq!(told[0]["unix_ms"], 1_467_451_546_064_u64);
}

#[test]
fn the_vectors_of_the_originals_are_composed_and_inspected() {
    let user = User::new();
    let sonyflakes = vectors(include_str!(
        "../../../../randflake-core/tests/vectors/sonyflake.json"
    ));
    let named = [
        ("snowflake", snowflakes()),
        ("sonyflake@1409529600000/10", sonyflakes),
    ];
    for (layout, vectors) in &named {
        for vector in vectors.iter().step_by(8) {
            let unix_ms = vector["unix_ms"].as_u64().unwrap();
            let time = format!("{}.{:03}", unix_ms / 1_000, unix_ms % 1_000);
            let [node, sequence] = ["node_id", "sequence"].map(|name| vector[name].to_string());
            let compose = ["compose", "--layout", layout, "--format", "int"];
            let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
            let id = vector["id"].as_str().unwrap();
            let told = user.run(&[&compose[..], &fields].concat()).ok();
            assert_eq!(told, format!("{id}\n"));
        }
        let told = user.run_on(
            column(vectors, "id").as_bytes(),
            &["inspect", "--layout", layout, "--from", "int", "--json"],
        );
        for (told, vector) in objects(&told.ok()).iter().zip(vectors) {
            for (ours, theirs) in [
                ("unix_ms", "unix_ms"),
                ("node", "node_id"),
                ("sequence", "sequence"),
            ] {
                assert_eq!(told[ours], vector[theirs], "{vector}");
            }
        }
    }
}

#[test]
fn plain_ids_are_encrypted_and_decrypted() {
    let (user, vectors) = (User::new(), snowflakes());
    let plain = column(&vectors, "id");
    let encrypt = words("convert --layout snowflake --from int --to text --encrypt");
    let hidden = user.run_on(plain.as_bytes(), &encrypt).ok();
    let decrypt = words("convert --layout snowflake --from text --to int --decrypt");
    assert_eq!(user.run_on(hidden.as_bytes(), &decrypt).ok(), plain);
    let inspect = words("inspect --layout encrypted:snowflake --json");
    for (told, vector) in objects(&user.run_on(hidden.as_bytes(), &inspect).ok())
        .iter()
        .zip(&vectors)
    {
        assert_eq!(
            (&told["node"], &told["raw"]),
            (&vector["node_id"], &vector["id"])
        );
    }
    let convert = words("convert --layout snowflake --from int --to text -1");
    assert_eq!(
        user.run(&convert).fails(2),
        "-1: the layout has no such id: bits outside its fields are set; is it encrypted, or of another layout?"
    );
}

/// 200 ids, half of them after 2041.
#[test]
fn the_published_vectors_are_composed_and_inspected() {
    let vectors = include_str!("../../../../randflake-core/tests/vectors/randflake.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    assert_eq!(vectors.len(), 200);
    let user = User::new();
    for vector in vectors {
        let key = [("RANDFLAKE_KEY", vector["secret"].as_str().unwrap())];
        let [time, node, sequence] =
            ["timestamp", "node_id", "sequence"].map(|name| vector[name].to_string());
        let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
        let compose = [&["compose", "--format", "json"], &fields[..]].concat();
        let composed = objects(&user.run_in(&key, &compose).ok());
        for (ours, theirs) in [
            ("int", "encrypted_id"),
            ("raw", "raw_id"),
            ("text", "encoded_id"),
        ] {
            assert_eq!(composed[0][ours], vector[theirs], "{vector}");
        }
        let inspect = ["inspect", "--json", vector["encoded_id"].as_str().unwrap()];
        assert_eq!(objects(&user.run_in(&key, &inspect).ok()), composed);
    }
}
