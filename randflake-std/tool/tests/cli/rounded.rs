//! Decimal ids that a floating-point number has passed through

use crate::user::{KEY, User, words};

/// Ids as encryption makes them.
fn ids() -> impl Iterator<Item = i64> {
    (1..=100_i64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()))
}

/// As JavaScript, jq 1.6 and a SQL engine print a number: the shortest digits that read as the same `float64`.
#[expect(
    clippy::cast_precision_loss,
    reason = "what these programs do to an id"
)]
fn printed(id: i64) -> String {
    (id as f64).to_string()
}

fn lines(ids: impl Iterator<Item = String>) -> String {
    ids.map(|id| id + "\n").collect()
}

const REFUSED: &str = "the first 8 long ids are written as floating-point numbers are (such as -7046029254386353000): \
                       JavaScript, jq, pandas or a spreadsheet had them, the last digits are probably lost, and these are other \
                       ids; read them from the source again, as text or as whole numbers; if they are right, --not-rounded \
                       takes them";

#[test]
fn a_stream_of_rounded_ids_is_refused() {
    let user = User::new();
    let rounded = lines(ids().map(printed));
    let objects = lines(ids().map(|id| format!("{{\"id\":{}}}", printed(id))));
    let whole = lines(ids().map(|id| id.to_string()));
    for (input, line, count) in [
        (&rounded, "inspect --from int", 100),
        (&rounded, "inspect --from int --csv", 101),
        (&rounded, "convert --from int --to text", 100),
        (&rounded, "convert --from int --to text --decrypt", 100),
        (&rounded, "histogram --from int --json", 1),
        (&objects, "inspect --from int --jsonl --column id", 100),
        (
            &objects,
            "convert --from int --to text --jsonl --column id",
            100,
        ),
    ] {
        let told = user.run_on(input.as_bytes(), &words(line));
        // Of a table the header stands there.
        assert!(told.stdout.lines().count() <= 1, "{line}");
        assert_eq!(told.fails(2), REFUSED, "{line}");
        let trusted = format!("{line} --not-rounded");
        let told = user.run_on(input.as_bytes(), &words(&trusted)).ok();
        assert_eq!(told.lines().count(), count);
    }
    user.run_on(whole.as_bytes(), &words("inspect --from int"))
        .ok();
    // One that is whole shows that none was rounded.
    let one_is_whole = format!("{}\n{rounded}", i64::MAX - 12_345);
    user.run_on(one_is_whole.as_bytes(), &words("inspect --from int"))
        .ok();
}

#[test]
fn arguments_that_are_all_rounded_are_refused() {
    let ids: Vec<_> = ids().take(8).map(printed).collect();
    let line = [
        &["inspect", "--from", "int", "--"],
        &ids.iter().map(String::as_str).collect::<Vec<_>>()[..],
    ];
    assert_eq!(User::new().run_keyed(&line.concat()).fails(2), REFUSED);
}

/// One good id in some hundred looks so as well.
#[test]
fn a_single_rounded_id_is_told() {
    let user = User::new();
    for line in [
        "inspect --from int -565904402127965200",
        "convert --from int --to text 4594531474933654033 -565904402127965200",
        "convert --from uint --to text 565904402127965200",
    ] {
        let told = user.run_in(&[("RANDFLAKE_KEY", KEY)], &words(line));
        assert_eq!(told.status, Some(0));
        assert!(!told.stdout.is_empty());
        assert!(
            told.stderr
                .contains("565904402127965200 is written as a floating-point number is"),
            "{line}: {}",
            told.stderr
        );
        user.run_keyed(&words(&format!("{line} --not-rounded")))
            .ok();
    }
    let told = user.run_on(b"-565904402127965200\n", &words("inspect --from int"));
    assert!(
        told.stderr
            .contains("one id in some hundred looks so by chance")
    );
    assert_eq!(told.status, Some(0));
}

#[test]
fn a_text_id_that_became_a_float_is_told() {
    let said = User::new()
        .run_keyed(&["inspect", "1.2345678901e+19"])
        .fails(2);
    assert!(
        said.contains("make one of a text id with digits and one e, such as 12345678901e9"),
        "{said}"
    );
}
