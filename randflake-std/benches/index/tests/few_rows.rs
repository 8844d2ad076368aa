//! The benchmark goes through all of its steps, with few rows.

#![cfg(unix)]

use std::process::{Command, Output};

fn index(arguments: &str) -> Output {
    let mut index = Command::new(env!("CARGO_BIN_EXE_index"));
    index.args(arguments.split(' ')).output().unwrap()
}

#[test]
fn all_recipes_are_measured_on_both_databases() {
    let output = index("--rows 40 --writers 2 --delay-ms 5 --rates 300,100 --arrival fleet");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let table = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    for line in &lines {
        assert_eq!(line.split(',').count(), 12, "{line}");
    }
    for begin in ["postgres,fleet_5ms,", "mariadb,fleet_5ms,"] {
        let of_both: Vec<_> = lines
            .iter()
            .filter(|line| line.starts_with(begin))
            .collect();
        assert!(of_both.len() > 10, "{begin}: {table}");
        assert!(of_both[0].contains("sequential,yes,"), "{table}");
    }
}

#[test]
fn wrong_options_are_refused_with_what_is_allowed() {
    for (wrong, said) in [
        ("--rates 5,x", "rows a second of each node"),
        ("--rates 0", "1 to 100,000"),
        ("--arrival tomorrow", "ordered|fleet"),
        ("--writers", "--writers: a value is missing"),
        ("--database oracle", "postgres|mariadb"),
    ] {
        let output = index(wrong);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && told.contains(said),
            "{wrong}: {told}"
        );
    }
}
