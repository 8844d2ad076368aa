//! What is wrong with the arguments is said in one line, and the exit status is 2

use randflake_std::Randflake;
use randflake_std::lease::{Namespace, open};

use crate::user::{KEY, User, words};

#[track_caller]
fn assert_said(lines: &[(&str, &str)]) {
    let user = User::without_store();
    for (line, said) in lines {
        assert_eq!(user.run_keyed(&words(line)).fails(2), *said, "{line}");
    }
    assert!(!user.path("state").exists());
}

#[test]
fn an_unknown_word_is_said_with_what_it_may_mean() {
    assert_said(&[
        (
            "inspct",
            "unrecognized subcommand 'inspct'; tip: a similar subcommand exists: 'inspect'; usage: randflake <COMMAND>",
        ),
        (
            "generate --fromat json",
            "unexpected argument '--fromat' found; tip: a similar argument exists: '--format'; \
             usage: randflake generate --format <FORM>",
        ),
        (
            "generate 5",
            "unexpected argument '5' found; usage: randflake generate [OPTIONS]; tip: to make 5, write -n 5",
        ),
        (
            "man lease relase",
            "no subcommand \"relase\": acquire, renew, release, list, status, namespaces, drop, quarantine, init, \
             upgrade, next-key, ticket, device, provision, line, check are allowed",
        ),
        (
            "man generate more",
            "generate has no subcommands, so no \"more\"",
        ),
    ]);
}

#[test]
fn what_is_missing_is_named() {
    let missing = "the following required arguments were not provided:";
    assert_said(&[
        (
            "compose --node 1",
            &format!(
                "{missing} --time <TIME> --sequence <S>; \
                 usage: randflake compose --time <TIME> --sequence <S> --node <N>"
            ),
        ),
        (
            "convert 3vgoe12ccb8gh",
            &format!("{missing} --to <FORM>; usage: randflake convert --to <FORM> <VALUE>..."),
        ),
        (
            "lease release",
            &format!("{missing} <NODE>...; usage: randflake lease release <NODE>..."),
        ),
    ]);
}

#[test]
fn a_wrong_choice_is_said_with_all_there_are() {
    let forms = "[possible values: text, int, uint, hex, base2, base32, base36, base58, base62, \
                 base64, bytes, uuid]";
    let shells = "[possible values: bash, elvish, fish, powershell, zsh]";
    assert_said(&[
        (
            "generate --format xml",
            "invalid value 'xml' for '--format <FORM>' [possible values: text, int, json, uint, hex, base2, base32, \
             base36, base58, base62, base64, bytes, uuid]",
        ),
        (
            "convert --to rot13 v",
            &format!("invalid value 'rot13' for '--to <FORM>' {forms}"),
        ),
        (
            "inspect --from rot13 v",
            &format!("invalid value 'rot13' for '--from <FORM>' {forms}"),
        ),
        (
            "completions tcl",
            &format!("invalid value 'tcl' for '<SHELL>' {shells}"),
        ),
    ]);
}

#[test]
fn a_wrong_number_is_said_with_its_range() {
    let compose = "compose --time 1730000000 --node 0 --sequence 0";
    for (line, value, name, range) in [
        (
            "generate -n -1",
            "-1",
            "--count <N>",
            "0 to 18446744073709551615",
        ),
        (
            "generate --node-ids 0..=3",
            "0",
            "--node-ids <K>",
            "1 to 131072",
        ),
        (
            "generate --node-ids 9..=8",
            "8",
            "--node-ids <K>",
            "9 to 131072",
        ),
        (
            &compose.replace("17", "16"),
            "1630000000",
            "--time <TIME>",
            "1730000000 (2024-10-27T03:33:20Z) to 2803741823 (2058-11-05T17:10:23Z)",
        ),
        (
            &compose.replace("1730000000", "2803741824"),
            "2803741824",
            "--time <TIME>",
            "1730000000 (2024-10-27T03:33:20Z) to 2803741823 (2058-11-05T17:10:23Z)",
        ),
        (
            &compose.replace("node 0", "node 131072"),
            "131072",
            "--node <N>",
            "0 to 131071",
        ),
        (
            &compose.replace("sequence 0", "sequence -1"),
            "-1",
            "--sequence <S>",
            "0 to 131071",
        ),
    ] {
        assert_said(&[(
            line,
            &format!("invalid value '{value}' for '{name}': {range} are allowed"),
        )]);
    }
    for number in ["0", "131073"] {
        let said = format!(
            "invalid value '{number}' for '--node-ids <K>': a number from 1 to 131072 is allowed, or a range such as 1..=8"
        );
        assert_said(&[(&format!("generate --node-ids {number}"), &said)]);
    }
}

/// What the library says of a URL, with the list of all forms.
fn refused(url: &str) -> String {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let said = open(url, &namespace).unwrap_err().to_string();
    assert!(
        said.contains(": take sqlite:PATH, ") && !said.contains("secret"),
        "{said}"
    );
    said
}

#[test]
fn a_wrong_store_or_namespace_is_said_without_passwords() {
    assert_said(&[
        (
            "generate --namespace A",
            "namespace \"A\": 1 to 64 characters of a-z, 0-9, '-' and '_' are allowed",
        ),
        ("generate --store leases.db", &refused("leases.db")),
        (
            "generate --store mongodb://me:secret@host",
            &refused("mongodb://me:secret@host"),
        ),
    ]);
}

#[test]
fn without_a_subcommand_it_helps() {
    let user = User::new();
    for line in [&[][..], &["lease"]] {
        let answer = user.run(line);
        assert_eq!((answer.status, answer.stdout.as_str()), (Some(2), ""));
        assert!(
            answer.stderr.contains("Usage: randflake"),
            "{}",
            answer.stderr
        );
    }
}

#[test]
fn a_wrong_variable_is_a_wrong_argument() {
    let user = User::new();
    for (variable, value, said) in [
        (
            "RANDFLAKE_KEY",
            "",
            "RANDFLAKE_KEY: the secret has 0 characters: 32 hexadecimal digits are allowed; `randflake keygen` makes one",
        ),
        (
            "RANDFLAKE_STORE",
            "",
            "--store or RANDFLAKE_STORE is given, and empty: give the URL of the store, or leave it out for the file in the state directory",
        ),
        (
            "RANDFLAKE_NAMESPACE",
            "",
            "namespace \"\": 1 to 64 characters of a-z, 0-9, '-' and '_' are allowed",
        ),
    ] {
        let answer = user.run_in(&[("RANDFLAKE_KEY", KEY), (variable, value)], &["generate"]);
        assert_eq!(answer.fails(2), said);
    }
}
