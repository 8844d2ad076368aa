//! Ids exchanged with the published Python package, randflake 2.1.0, decoded with numpy, and read
//! by packages for other layouts and for UUIDs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod leases;
mod notebook;
mod packages;
mod peer;

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use peer::Random;
use peer::ask;
use randflake_std::randflake_core::DecodeError;
use randflake_std::{Id, Layout, Parts, Randflake};
use serde_json::{Value, json};

const IDS: usize = 2_000;

/// The Unix time of a tick, as the package calls it.
fn timestamp(tick: u64) -> u64 {
    Randflake::SPEC.unix_ms(tick) / 1_000
}

#[test]
fn ours_are_decoded_there() {
    let mut random = Random::new();
    let mut requests = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..IDS {
        let (secret, parts) = (random.secret(), random.parts());
        let id = secret.codec.compose(parts).unwrap();
        let text = id.to_string();
        requests.push(json!({"operation": "inspect", "secret": secret.hex, "text": text}));
        expected.push(json!({
            "id": id.to_i64(),
            "text": text,
            "timestamp": timestamp(parts.tick),
            "node_id": parts.node_id,
            "sequence": parts.sequence
        }));
    }
    for (answer, expected) in ask(&requests).iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
}

#[test]
fn theirs_are_decoded_here() {
    let mut random = Random::new();
    let mut requests = Vec::new();
    let mut expected = Vec::new();
    while requests.len() < IDS {
        let (secret, parts) = (random.secret(), random.parts());
        // The package is asked for this one and the next.
        let Parts {
            tick,
            node_id,
            sequence,
        } = parts;
        if sequence == Randflake::SPEC.max_sequence() {
            continue;
        }
        requests.push(json!({
            "operation": "generate",
            "secret": secret.hex,
            "timestamp": timestamp(tick),
            "node_id": node_id,
            "sequence": sequence
        }));
        expected.push((
            secret.codec,
            [
                parts,
                Parts {
                    sequence: sequence + 1,
                    ..parts
                },
            ],
        ));
    }
    for (answer, (codec, pair)) in ask(&requests).iter().zip(&expected) {
        for (index, parts) in pair.iter().enumerate() {
            let id = Id::from_i64(answer["ids"][index].as_i64().unwrap());
            assert_eq!(codec.inspect(id), *parts);
            assert_eq!(answer["texts"][index].as_str().unwrap().parse(), Ok(id));
            assert_eq!(codec.compose(*parts), Ok(id));
        }
    }
}

#[test]
fn texts_are_accepted_and_refused_alike() {
    let mut random = Random::new();
    // The first is empty.
    let edges = " 0 00 01 1 v V w = 0= fvvvvvvvvvvvv g000000000000 0fvvvvvvvvvvvv vvvvvvvvvvvvv 10000000000000 3VGOE12CCB8GH 3vgoe12ccb8gh=".split(' ');
    let mut texts: Vec<_> = edges.map(str::to_owned).collect();
    texts.extend((0..5 * IDS).map(|_| random.text()));
    let requests: Vec<_> = texts
        .iter()
        .map(|text| json!({"operation": "decode", "text": text}))
        .collect();
    let number = |decoded: Result<Id, DecodeError>| decoded.ok().map(Id::to_i64);
    let mut accepted = [0, 0];
    for (text, answer) in texts.iter().zip(ask(&requests)) {
        let strict = number(Id::from_text(text.as_bytes()));
        let lenient = number(Id::from_text_lenient(text.as_bytes()));
        assert_eq!(
            answer,
            json!({"strict": strict, "lenient": lenient}),
            "{text:?}"
        );
        accepted[0] += usize::from(strict.is_some());
        accepted[1] += usize::from(lenient.is_some());
    }
    // Both verdicts are common, and not the same ones.
    assert!((IDS..4 * IDS).contains(&accepted[0]), "{accepted:?}");
    assert!(
        (accepted[0] + IDS..5 * IDS).contains(&accepted[1]),
        "{accepted:?}"
    );
}

#[test]
fn what_the_tool_generates_is_decoded_there() {
    let secret = Random::new().secret();
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_randflake"))
        .args(["generate", "-n", "2000", "--namespace", "interop"])
        .env("RANDFLAKE_KEY", &secret.hex)
        .env("XDG_STATE_HOME", home.path())
        .env_remove("RANDFLAKE_STORE")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let texts = String::from_utf8(output.stdout).unwrap();
    let requests: Vec<Value> = texts
        .lines()
        .map(|text| json!({"operation": "inspect", "secret": secret.hex, "text": text}))
        .collect();
    assert_eq!(requests.len(), IDS);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let answers = ask(&requests);
    let places = answers.iter().map(|answer| {
        assert!(
            now.abs_diff(answer["timestamp"].as_u64().unwrap()) < 60,
            "{answer}"
        );
        assert_eq!(answer["node_id"], answers[0]["node_id"]);
        (answer["timestamp"].as_u64(), answer["sequence"].as_u64())
    });
    assert!(places.is_sorted_by(|one, next| one < next));
}
