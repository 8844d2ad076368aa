//! `inspect`, `compose` and `convert`

use serde_json::{Value, json};

use crate::user::{User, objects, words};

#[test]
fn an_id_is_inspected() {
    let told = User::new().run_keyed(&["inspect", "3vgoe12ccb8gh"]).ok();
    assert_eq!(
        told,
        "text      3vgoe12ccb8gh\n\
         int       4594531474933654033\n\
         raw       63673697622556673\n\
         time      1733706297 (2024-12-09T01:04:57Z)\n\
         node      42\n\
         sequence  1\n"
    );
}

#[test]
fn several_ids_have_a_line_each() {
    let user = User::new();
    let expected =
        "3vgoe12ccb8gh  time 1733706297 (2024-12-09T01:04:57Z)  node 42      sequence 1\n";
    let ids = ["inspect", "3vgoe12ccb8gh", "3vgoe12ccb8gh"];
    assert_eq!(user.run_keyed(&ids).ok(), expected.repeat(2));
    assert_eq!(user.run_on(b"3vgoe12ccb8gh\n", &["inspect"]).ok(), expected);
}

#[test]
fn a_typed_id_is_read_and_its_prefix_is_shown() {
    let user = User::new();
    let block = user.run_keyed(&["inspect", "ord_3vgoe12ccb8gh"]).ok();
    assert!(
        block
            .starts_with("prefix    ord\ntext      3vgoe12ccb8gh\nint       4594531474933654033\n"),
        "{block}"
    );
    let told = user.run_keyed(&words("inspect --json line_item2_3vgoe12ccb8gh"));
    let object = &objects(&told.ok())[0];
    assert_eq!(object["prefix"], "line_item2");
    assert_eq!(object["text"], "3vgoe12ccb8gh");
    for (input, line, expected) in [
        (
            "ord_3vgoe12ccb8gh\nv\n",
            "convert --to int",
            "4594531474933654033\n31\n",
        ),
        (
            "ord_3vgoe12ccb8gh\n",
            "convert --to text",
            "ord_3vgoe12ccb8gh\n",
        ),
        (
            "ord_3vgoe12ccb8gh\n",
            "inspect --csv --columns id,node",
            "id,node\nord_3vgoe12ccb8gh,42\n",
        ),
        (
            "n,id\n1,ord_v\n",
            "convert --csv --column id --to int",
            "n,id\n1,31\n",
        ),
    ] {
        assert_eq!(user.run_on(input.as_bytes(), &words(line)).ok(), expected);
    }
    let told = user
        .run_keyed(&words("inspect ord_3vgoe12ccb8gh user_v"))
        .ok();
    let starts: Vec<_> = told
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(starts, ["ord_3vgoe12ccb8gh", "user_v"]);
    for (text, problem) in [
        (
            "ord_3VG",
            "after the prefix \"ord\": 'V', character 2, is not a digit",
        ),
        (
            "Ord_3vg",
            "the prefix of a typed id, before the last _, has a-z, 0-9 and _",
        ),
        ("ord_", "after the prefix \"ord\": "),
    ] {
        let said = user.run_keyed(&["inspect", text]).fails(2);
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn an_id_in_json_has_all_fields() {
    let user = User::new();
    let expected = json!({
        "text": "3vgoe12ccb8gh",
        "int": "4594531474933654033",
        "raw": "63673697622556673",
        "time": 1_733_706_297,
        "unix_ms": 1_733_706_297_000_u64,
        "time_utc": "2024-12-09T01:04:57Z",
        "node": 42,
        "sequence": 1
    });
    let inspect = ["inspect", "--json", "--from", "int", "4594531474933654033"];
    let compose = words("compose --time 1733706297 --node 42 --sequence 1 --format json");
    for arguments in [&inspect[..], &compose] {
        assert_eq!(objects(&user.run_keyed(arguments).ok())[0], expected);
    }
}

#[test]
fn an_id_of_another_secret_raises_a_doubt() {
    let user = User::new();
    let compose = words("compose --time 2803741823 --node 131071 --sequence 131071");
    let id = user.run_keyed(&compose).ok();
    let told = user.run_keyed(&["inspect", id.trim()]).ok();
    assert!(
        told.contains("2803741823 (2058-11-05T17:10:23Z)  in the future"),
        "{told}"
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

#[test]
fn every_form_is_converted_to_every_other() {
    let user = User::new();
    let same = [
        [
            "text",
            "0",
            "v",
            "fvvvvvvvvvvvv",
            "8000000000000",
            "7vvvvvvvvvvvv",
        ],
        [
            "int",
            "0",
            "31",
            "-1",
            "-9223372036854775808",
            "9223372036854775807",
        ],
        [
            "uint",
            "0",
            "31",
            "18446744073709551615",
            "9223372036854775808",
            "9223372036854775807",
        ],
        [
            "hex",
            "0000000000000000",
            "000000000000001f",
            "ffffffffffffffff",
            "8000000000000000",
            "7fffffffffffffff",
        ],
    ];
    for [from, given @ ..] in same {
        for [to, expected @ ..] in same {
            let expected = expected.join("\n") + "\n";
            let forms = ["convert", "--from", from, "--to", to];
            let told = user.run(&[&forms[..], &given].concat()).ok();
            assert_eq!(told, expected, "{from} to {to}");
            let lines = given.join("\r\n  ");
            assert_eq!(
                user.run_on(lines.as_bytes(), &forms).ok(),
                expected,
                "{from} to {to}"
            );
        }
    }
    let short = user.run(&["convert", "--from", "hex", "--to", "int", "0x1F", "f"]);
    assert_eq!(short.ok(), "31\n15\n");
}

#[test]
fn what_is_no_id_is_said_with_what_is_allowed() {
    let user = User::new();
    for (form, value, problem) in [
        (
            "text",
            "3VG",
            "'V', character 2, is not a digit: 0-9 and a-v are allowed; a text id has lower-case letters only",
        ),
        (
            "text",
            "",
            "the text is empty: 1 to 13 digits of 0-9a-v are allowed",
        ),
        (
            "text",
            "01",
            "the text has a leading zero, which is not allowed",
        ),
        (
            "text",
            "gvvvvvvvvvvvv",
            "the number is over 64 bits: at most fvvvvvvvvvvvv is allowed",
        ),
        (
            "text",
            "4594531474933654033",
            "the text has 19 characters: at most 13 are allowed; a signed number needs --from int",
        ),
        (
            "int",
            "9223372036854775808",
            "not a number from -9223372036854775808 to 9223372036854775807; an unsigned number needs --from uint",
        ),
        (
            "uint",
            "-1",
            "not a number from 0 to 18446744073709551615; a signed number needs --from int",
        ),
        (
            "int",
            "+5",
            "'+', -0 and leading zeros are not allowed: write 5",
        ),
        (
            "int",
            "-007",
            "'+', -0 and leading zeros are not allowed: write -7",
        ),
        (
            "uint",
            "007",
            "'+', -0 and leading zeros are not allowed: write 7",
        ),
        ("hex", "0x", "not a number of 1 to 16 hex digits"),
        (
            "hex",
            "10000000000000000",
            "not a number of 1 to 16 hex digits; a signed number needs --from int",
        ),
    ] {
        let said = user.run(&["convert", "--from", form, "--to", "hex", "0", value]);
        assert_eq!(said.stdout, "", "nothing is printed unless all is right");
        assert_eq!(said.fails(2), format!("{value:?}: {problem}"));
    }
}

#[test]
fn the_first_wrong_line_ends_the_input() {
    let user = User::new();
    let convert = ["convert", "--from", "int", "--to", "text"];
    let said = user.run_on(b"31\n32\n 3x \n33\n", &convert);
    assert_eq!(said.stdout, "v\n10\n");
    let allowed = "not a number from -9223372036854775808 to 9223372036854775807";
    assert_eq!(said.fails(2), format!("line 3: \"3x\": {allowed}"));
    let said = user.run_on(&[b'x'; 4_096], &convert).fails(2);
    assert_eq!(
        said,
        format!("line 1: \"{}\"...: {allowed}", "x".repeat(40))
    );
    assert_eq!(user.run_on(b"", &convert).ok(), "");
}
