//! Tables and cells that are refused, and what is done with such rows.

use super::{CELLS, ID, on};
use crate::user::{User, words};

#[test]
fn a_column_that_is_not_clear_is_refused() {
    let table = format!("id,a,id\n1,2,{ID}\n");
    for (line, problem) in [
        (
            "--column id",
            "--column id: columns 1 and 3 have this name: choose one by its number",
        ),
        (
            "--column order_id",
            "--column order_id: the header has \"id\", \"a\", \"id\"; a table without a header needs --no-header and \
             the number of the column",
        ),
        (
            "--column 3 --columns node,node",
            "--columns: \"node\" is there twice",
        ),
        (
            "--column 3 --columns a",
            "--columns: there is no column \"a\": id, time, unix_ms, time_utc, node, sequence, raw and the forms of \
             --from are allowed",
        ),
        (
            "--column 3 --columns id",
            "the table has a column \"id\" already: --prefix puts a word before the new names",
        ),
    ] {
        let line = format!("inspect --csv --from int {line}");
        assert_eq!(on(&table, &line).fails(2), problem);
    }
    // The number of the second one.
    assert_eq!(
        on(&table, "inspect --csv --from int --column 3").ok(),
        format!("id,a,id,time_utc,node,sequence\n1,2,{ID},{CELLS}\n")
    );
    let told = on("", "inspect --csv --column id").fails(2);
    assert!(told.starts_with("the table is empty"), "{told}");
    let told = on("", "inspect --csv --column id 5").fails(2);
    assert!(told.contains("none are allowed as arguments"), "{told}");
    let told = on("", "convert --csv --to int").fails(2);
    assert!(told.starts_with("a table needs --column"), "{told}");
    for line in [
        "--column id",
        "--columns id",
        "--csv --json",
        "--csv --bits",
        "--csv --tsv",
        "--tsv --delimiter ;",
        "--csv --json-numbers",
    ] {
        let told = on("", &format!("inspect {line}"));
        assert_eq!(told.status, Some(2), "{line}");
    }
}

#[test]
fn a_bad_cell_stops_or_is_counted() {
    let table = format!("a,order_id\n\"\n\",{ID}\n2,x1\n3,{ID}\n4,1.5\n");
    let line = |action: &str| {
        format!("inspect --csv --column order_id --from int --columns node {action}")
    };
    let header = format!("a,order_id,node\n\"\n\",{ID},42\n");
    let first = "row 2 (line 4), column order_id: \"x1\": not a number from -9223372036854775808 to \
                 9223372036854775807";
    for action in ["", "--on-error stop"] {
        let told = on(&table, line(action).trim_end());
        assert_eq!(told.stdout, header);
        assert_eq!(told.fails(2), first);
    }
    for (action, rows, done) in [
        (
            "--on-error empty",
            format!("2,x1,\n3,{ID},42\n4,1.5,\n"),
            "have empty cells",
        ),
        ("--on-error skip", format!("3,{ID},42\n"), "were left out"),
    ] {
        let told = on(&table, &line(action));
        assert_eq!(told.stdout, format!("{header}{rows}"));
        let said = format!("2 of 4 rows have no valid id and {done}; the first: {first}");
        assert_eq!(told.fails(5), said);
    }
    // A list has no columns.
    let told = on("x1\n", "inspect --csv --from int").fails(2);
    assert!(
        told.starts_with("row 1 (line 1): \"x1\": not a number"),
        "{told}"
    );
}

#[test]
fn a_ragged_row_stops_or_is_left_out() {
    let table = format!("a,order_id\n1,{ID}\n2\n3,{ID},more\n4,{ID}\n");
    let line = "inspect --csv --column order_id --from int --columns node";
    let problem = "row 2 (line 3): it has 1 cells, and the header 2";
    let header = format!("a,order_id,node\n1,{ID},42\n");
    let told = on(&table, line);
    assert_eq!(told.stdout, header);
    assert_eq!(told.fails(2), problem);
    let told = on(&table, &format!("{line} --on-error empty")).fails(2);
    assert_eq!(told, format!("{problem}; --on-error skip leaves it out"));
    let told = on(&table, &format!("{line} --on-error skip"));
    assert_eq!(told.stdout, format!("{header}4,{ID},42\n"));
    let said = format!("2 of 4 rows have no valid id and were left out; the first: {problem}");
    assert_eq!(told.fails(5), said);
}

#[test]
fn what_is_no_table_is_refused() {
    let line = "inspect --csv --column order_id --from int";
    let open = format!("order_id,a\n{ID},\"b\n{ID},c\n");
    let told = on(&open, line);
    assert_eq!(told.stdout, "order_id,a,time_utc,node,sequence\n");
    assert_eq!(
        told.fails(2),
        "the row that begins in line 2 does not end before the input does: is a quote not closed?"
    );
    let long = open + &"x".repeat(9 << 20);
    assert_eq!(
        on(&long, line).fails(2),
        "the row that begins in line 2 is longer than 8 MiB: is a quote not closed?"
    );
    for (file, problem) in [
        (&b"\xFF\xFEi\0d\0"[..], "the input is UTF-16"),
        (
            b"\x1F\x8B\x08\x08\n",
            "the input is compressed: write `zcat",
        ),
        (
            b"\x28\xB5\x2F\xFD\n",
            "the input is compressed: write `zstdcat",
        ),
        (b"PAR1\x15,\n", "the input is Parquet"),
        (b"PK\x03\x04,\n", "the input is a spreadsheet or an archive"),
    ] {
        let answer = User::new().run_on(file, &words(line));
        let told = answer.fails(2);
        assert!(told.starts_with(problem), "{told}");
    }
}

#[test]
fn a_table_of_another_separator_or_read_as_a_list_is_told() {
    let another =
        "its cells have another separator: --csv is for commas, --csv --delimiter for others";
    let table = "of a table only the ids are allowed; `inspect` and `convert` read one by --csv --column NAME";
    for (row, line, problem) in [
        ("order_id;a", "inspect --csv --column order_id", another),
        ("order_id,a", "inspect --tsv --column order_id", another),
        ("order_id,a", "inspect --csv", table),
        ("order_id;a", "inspect --json", table),
        ("order_id;a", "convert --to text", table),
        ("order_id,a", "explain", table),
        ("4,594,531", "inspect --csv", "a number has no commas"),
        (
            "order_id",
            "inspect --csv --columns order_id",
            "--column names the one with the ids",
        ),
    ] {
        let user = User::new();
        user.run_keyed(&["generate"]).ok();
        let line = format!("{line} --from int");
        let told = user.run_on(format!("{row}\n").as_bytes(), &words(&line));
        let told = told.fails(2);
        assert!(told.contains(problem), "{line}: {told}");
    }
}

#[test]
fn tables_of_rounded_ids_are_refused() {
    let ids = |round: fn(i64) -> i64| {
        let ids =
            (1..=30).map(|row: i64| round(row.wrapping_mul(0x0E37_79B9_7F4A_7C15)).to_string());
        format!("id\n5\n{}\n", ids.collect::<Vec<_>>().join("\n"))
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "what pandas does to a column with missing numbers"
    )]
    let floats = ids(|id| id as f64 as i64);
    let digits = ids(|id| id / 10_000 * 10_000);
    let line = "inspect --csv --column id --from int";
    let said = "the first 8 long ids are written as floating-point numbers are (such as ";
    for table in [&digits, &floats] {
        for line in [line, "convert --csv --column id --from int --to text"] {
            let told = on(table, line);
            assert!(told.stdout.lines().count() <= 1);
            let told = told.fails(2);
            assert!(told.starts_with(said), "{told}");
            assert!(told.ends_with("if they are right, --not-rounded takes them"));
            let told = on(table, &format!("{line} --not-rounded"));
            assert_eq!(told.ok().lines().count(), 32);
        }
    }
    let one_is_whole = digits.replacen("id\n5\n", "id\n4594531474933654033\n", 1);
    for (table, line) in [
        (&ids(|id| id), line),
        (&one_is_whole, line),
        // Snowflakes of node 0 end in bits of zero.
        (
            &floats,
            "inspect --csv --column id --from int --layout snowflake",
        ),
    ] {
        on(table, line).ok();
    }
}

#[test]
fn objects_without_an_id_are_refused() {
    for (row, problem) in [
        ("{\"id\":1", "a JSON object is needed on each line: EOF"),
        ("[{\"id\":1}]", "`jq -c .[]` writes an array as lines"),
        (
            "{\"id\":1} {}",
            "a JSON object is needed on each line: trailing",
        ),
        ("{\"id\":1,\"id\":2}", "it has \"id\" twice"),
        ("{\"ID\":1}", "it has no member \"id\""),
        (
            "{\"id\":1,\"node\":2}",
            "it has a member \"node\" already: --prefix",
        ),
        (
            "{\"id\":true}",
            "column id: true: a string, a number or null is allowed",
        ),
        (
            &format!("{{\"id\":[{}1]}}", "1,".repeat(10_000)),
            "column id: an array: a string, a number or null is allowed",
        ),
        (
            "{\"id\":{\"$numberLong\":\"1\"}}",
            "column id: an object: a string, a number or null is allowed",
        ),
        (
            &format!("{{\"id\":\"{}\\ud800\"}}", "x".repeat(10_000)),
            "xxxxxxxx\"...: unexpected end of hex escape",
        ),
        (
            "{\"id\":4.594531474933654e18}",
            "a number with a fraction or an exponent has lost its last digits",
        ),
    ] {
        let lines = format!("{{\"id\":1}}\n{row}\n");
        let told = on(&lines, "inspect --jsonl --column id --from int");
        assert_eq!(told.stdout.lines().count(), 1);
        let told = told.fails(2);
        assert!(
            told.starts_with("row 2 (line 2)") && told.contains(problem),
            "{told}"
        );
        let told = on(
            &lines,
            "inspect --jsonl --column id --from int --on-error skip",
        );
        assert_eq!(told.stdout.lines().count(), 1);
        assert!(told.fails(5).starts_with("1 of 2 rows"));
    }
}
