//! Ids and UUIDs in packages of `PyPI` and npm, and in Python's own library: each finds the same
//! fields in them.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};

use randflake_std::randflake_core::{Codec, Instagram, LayoutSpec, Plain, Snowflake, Sonyflake};
use randflake_std::{Id, Layout, Parts, TaggedUuid};
use serde_json::{Value, json};

use crate::IDS;
use crate::peer::Random;
use crate::peer::{answers, python};

fn in_python(requests: &[Value]) -> Vec<Value> {
    let mut command = Command::new(python());
    command.args(["-c", include_str!("packages.py")]);
    answers(command, requests)
}

fn told(variable: &str) -> OsString {
    let found = std::env::var_os(variable);
    found.unwrap_or_else(|| panic!("{variable} is not set: `cargo xtask interop` sets it"))
}

fn in_node(requests: &[Value]) -> Vec<Value> {
    let mut command = Command::new(told("RANDFLAKE_NODE"));
    // Where modules are looked for.
    command.current_dir(told("RANDFLAKE_INTEROP_NODE_MODULES"));
    command.args(["-e", include_str!("packages.js")]);
    answers(command, requests)
}

/// Random ids of a layout, as a package is asked, and what it must say: milliseconds, node id and
/// sequence.
fn ids(package: &str, spec: LayoutSpec) -> (Vec<Value>, Vec<Value>) {
    let codec = Codec::new(spec, Plain);
    let mut random = Random::new();
    let pairs = (0..IDS).map(|_| {
        let mut field = |max| u32::try_from(random.up_to(u64::from(max))).unwrap();
        let (node_id, sequence) = (field(spec.max_node_id()), field(spec.max_sequence()));
        let tick = random.up_to(spec.max_tick());
        let parts = Parts {
            tick,
            node_id,
            sequence,
        };
        let id = codec.compose(parts).unwrap();
        let epoch_ms = spec.unix_ms(0);
        let request =
            json!({"package": package, "id": id.to_u64().to_string(), "epoch_ms": epoch_ms});
        (request, json!([spec.unix_ms(tick), node_id, sequence]))
    });
    pairs.unzip()
}

#[test]
fn packages_find_our_fields_in_ids() {
    // Of the first Snowflake, which both packages take any epoch for.
    let (requests, expected) = ids("snowflake", Snowflake::SPEC);
    assert_eq!(in_python(&requests), expected);
    assert_eq!(in_node(&requests), expected);
    let (requests, expected) = ids("instagram", Instagram::SPEC);
    assert_eq!(in_python(&requests), expected);
    let (requests, expected) = ids("sonyflake", Sonyflake::SPEC);
    assert_eq!(in_python(&requests), expected);
}

/// Objects of new ids of 53 bits, as the tool prints them, and of the smallest and the largest.
fn numbers() -> Vec<Value> {
    let secret = Random::new().secret();
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_randflake"))
        .args("generate -n 2000 --layout randflake53 --json".split(' '))
        .env("RANDFLAKE_KEY", &secret.hex)
        .env("XDG_STATE_HOME", home.path())
        .env_remove("RANDFLAKE_STORE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let objects = String::from_utf8(output.stdout).unwrap();
    let objects = objects
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let edges =
        [0_u64, (1 << 53) - 1].map(|number| json!({"int": number.to_string(), "number": number}));
    objects.chain(edges).collect()
}

#[test]
fn json_of_python_keeps_each_bit_of_53() {
    let again = "import json, sys\nfor line in sys.stdin:\n    id = json.loads(line)\n    \
                 assert int(float(id['number'])) == id['number'] == int(id['int'])\n    print(json.dumps(id))";
    let mut python = Command::new(python());
    python.args(["-c", again]);
    let numbers = numbers();
    assert_eq!(answers(python, &numbers), numbers);
}

#[test]
fn json_of_node_keeps_each_bit_of_53() {
    let again =
        "for (const line of require('node:fs').readFileSync(0, 'utf8').trim().split('\\n')) {
        const id = JSON.parse(line);
        if (!Number.isSafeInteger(id.number) || String(id.number) !== id.int) throw Error(line);
        console.log(JSON.stringify(id));
    }";
    let mut node = Command::new(told("RANDFLAKE_NODE"));
    node.args(["-e", again]);
    let numbers = numbers();
    assert_eq!(answers(node, &numbers), numbers);
}

/// What the tool prints of ids in another form.
fn converted(from: &str, to: &str, lines: &[String]) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_randflake"))
        .args(["convert", "--from", from, "--to", to])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(text.as_bytes()));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn libraries_take_our_uuids_for_uuids_of_version_8() {
    let mut random = Random::new();
    let edges = [0, 1, u64::MAX, 1 << 63];
    let ids = edges.into_iter().chain((0..IDS).map(|_| random.next()));
    let ids: Vec<_> = ids.map(Id::from_u64).collect();
    let ints: Vec<_> = ids.iter().map(|id| id.to_i64().to_string()).collect();
    let texts = converted("int", "uuid", &ints);
    let requests: Vec<_> = texts
        .iter()
        .map(|text| json!({"package": "uuid", "text": text}))
        .collect();
    let bytes = ids
        .iter()
        .map(|id| format!("{:032x}", u128::from_be_bytes(id.to_uuid_bytes())));
    // Version, variant, the text that the library writes, its bytes.
    let expected: Vec<_> = texts
        .iter()
        .zip(bytes)
        .map(|(text, bytes)| json!([8, true, text, bytes]))
        .collect();
    assert_eq!(in_python(&requests), expected);
    assert_eq!(in_node(&requests), expected);
    assert_eq!(converted("uuid", "int", &texts), ints);
}

#[test]
fn libraries_keep_each_bit_of_tagged_uuids() {
    let vectors = include_str!("../../../../randflake-core/tests/vectors/tagged.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    let texts = vectors
        .iter()
        .map(|vector| vector["uuid"].as_str().unwrap());
    let (requests, expected): (Vec<_>, Vec<_>) = texts
        .map(|text| {
            let bytes = text.parse::<TaggedUuid>().unwrap().to_bytes();
            let bytes = format!("{:032x}", u128::from_be_bytes(bytes));
            let request = json!({"package": "uuid", "text": text});
            (request, json!([8, true, text, bytes]))
        })
        .unzip();
    assert_eq!(in_python(&requests), expected);
    assert_eq!(in_node(&requests), expected);
}
