//! The command `randflake histogram`.

use core::fmt::Write as _;
use std::fs;

use crate::user::{User, objects, words};

/// A chi-square this large has a p of about 10^-9, and one this small nobody sees either.
const IS_EVEN: core::ops::Range<f64> = 0.000_000_001..0.999_999_999;

#[test]
fn encrypted_ids_are_even_and_plain_ones_are_not() {
    let user = User::without_store();
    for (layout, is_even) in [
        ("randflake", true),
        ("encrypted:snowflake", true),
        ("snowflake", false),
        ("discord", false),
    ] {
        // The sequence of a service that is seldom asked is always 0, so every remainder by a power of two.
        for by in [&["--bins", "16"][..], &["--shards", "8"]] {
            let line = [
                &["histogram", "-n", "20000", "--json", "--layout", layout],
                by,
            ]
            .concat();
            let told = &objects(&user.run(&line).ok())[0];
            assert_eq!(told["ids"], 20_000);
            let p = told["p"].as_f64().unwrap();
            assert_eq!(IS_EVEN.contains(&p), is_even, "{told}");
            assert!(is_even || p < 1e-9, "{told}");
        }
    }
    assert!(!user.path("state").exists());
}

#[test]
fn issued_ids_are_read_and_drawn() {
    let user = User::new();
    let ids = user.run_keyed(&["generate", "-n", "16000"]).ok();
    let svg = user.argument("ids.svg");
    let line = ["histogram", "--shards", "5", "--svg", &svg];
    let told = user.run_on(ids.as_bytes(), &line).ok();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(lines[0].starts_with("shard  count   share"), "{told}");
    assert!(lines[1..6].iter().all(|line| line.contains('█')), "{told}");
    assert!(lines[6].starts_with("16000 ids; chi-square "), "{told}");
    assert!(
        lines[6].contains(", 4 degrees of freedom, p = 0."),
        "{told}"
    );
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<title>").count(), 5);
    assert!(svg.contains("16000 ids over 5 shards"), "{svg}");
}

/// Every label is within the picture: a digit is at most three fifths as wide as the letters are high.
#[test]
fn the_names_of_bars_are_drawn_whole() {
    let user = User::new();
    let file = user.argument("names.svg");
    user.run(&["histogram", "-n", "1000", "--svg", &file]).ok();
    let svg = fs::read_to_string(file).unwrap();
    let mut labels = Vec::new();
    for text in svg.lines().filter(|line| line.starts_with("<text x=")) {
        let attribute = |name: &str| {
            let rest = text.split_once(&format!("{name}=\"")).unwrap().1;
            rest.split('"').next().unwrap().to_owned()
        };
        let name = text.split_once('>').unwrap().1;
        let name = name.strip_suffix("</text>").unwrap();
        let is_label = name.len() == 16 && name.chars().all(|c| c.is_ascii_hexdigit());
        if !is_label {
            continue;
        }
        let (x, width) = (attribute("x").parse::<f64>().unwrap(), 16.0 * 12.0 * 0.6);
        let left = match attribute("text-anchor").as_str() {
            "start" => x,
            "middle" => x - width / 2.0,
            _ => x - width,
        };
        assert!(left >= 0.0 && left + width <= 720.0, "{text}");
        labels.push(name);
    }
    let expected = ["0000000000000000", "8000000000000000", "f000000000000000"];
    assert_eq!(labels, expected);
}

/// Counts and the test of numbers that are known: 60 throws of a die, 5, 8, 9, 8, 10, 20 times each, have a chi-square
/// of 13.4 (the example of Wikipedia's article on the test), and a p of 0.020.
#[test]
fn a_known_example_has_its_known_result() {
    let mut throws = String::new();
    for (face, count) in [5, 8, 9, 8, 10, 20].into_iter().enumerate() {
        for throw in 0..count {
            _ = writeln!(throws, "{}", face + 6 * throw);
        }
    }
    let user = User::new();
    let count = words("histogram --from uint --shards 6 --json");
    let told = &objects(&user.run_on(throws.as_bytes(), &count).ok())[0];
    assert_eq!(told["counts"], serde_json::json!([5, 8, 9, 8, 10, 20]));
    assert_eq!(told["degrees_of_freedom"], 5);
    assert!((told["chi_square"].as_f64().unwrap() - 13.4).abs() < 1e-9);
    assert!((told["p"].as_f64().unwrap() - 0.0199).abs() < 1e-4);
    let text = words("histogram --from uint --shards 6");
    let told = user.run_on(throws.as_bytes(), &text).ok();
    assert!(
        told.ends_with(
            "60 ids; chi-square 13.4, 5 degrees of freedom, p = 0.0199: as even as random numbers\n"
        ),
        "{told}"
    );
    let few = user.run_on(b"1\n2\n", &words("histogram --from int")).ok();
    assert!(few.ends_with("too few ids for a verdict: five for each bar are needed\n"));
}

#[test]
fn wrong_questions_are_refused() {
    let user = User::new();
    for (line, said) in [
        (
            "histogram --bins 1",
            "invalid value '1' for '--bins <N>': 2 to 4096 are allowed",
        ),
        (
            "histogram --shards 5000",
            "invalid value '5000' for '--shards <N>': 2 to 4096 are allowed",
        ),
        (
            "histogram -n 10 --layout custom:4,30,30@0/1700000000000",
            "the layout has had 1 ticks since its epoch: a sample of at most as many is allowed",
        ),
        ("histogram", "there is no id to count"),
    ] {
        assert_eq!(user.run(&words(line)).fails(2), said);
    }
    let said = user.run_on(b"v\nV\n", &["histogram"]).fails(2);
    assert!(said.starts_with("line 2: \"V\": "), "{said}");
    let said = user.run(&words("histogram --layout snowflake")).fails(2);
    assert!(said.contains("--count <N>"), "{said}");
}
