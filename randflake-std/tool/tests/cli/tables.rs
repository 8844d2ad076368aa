//! Tables: CSV, tab-separated values and JSON lines

use core::fmt::Write as _;
use std::io::{Read, Write as _};

use crate::user::{Answer, User, words};

const ID: &str = "4594531474933654033";
const CELLS: &str = "2024-12-09T01:04:57Z,42,1";

fn on(input: &str, line: &str) -> Answer {
    User::new().run_on(input.as_bytes(), &words(line))
}

#[test]
fn columns_are_added_and_nothing_else_changes() {
    for (table, added) in [
        // Quotes, those that nobody needed too, separators and line ends in cells, white space, no line ending at the end.
        (
            "\"a\",order_id,b\n\"x,\"\"y\"\"\r\nz\",{id}, spaces \n,\"{id}\",\"\n\"\n",
            "\"a\",order_id,b,{names}\n\"x,\"\"y\"\"\r\nz\",{id}, spaces ,{cells}\n,\"{id}\",\"\n\",{cells}\n",
        ),
        (
            "a,order_id\r\n1,{id}\r\n",
            "a,order_id,{names}\r\n1,{id},{cells}\r\n",
        ),
        ("order_id,a\n{id},1", "order_id,a,{names}\n{id},1,{cells}\n"),
        (
            "order_id,a\r{id},1\r",
            "order_id,a,{names}\r{id},1,{cells}\r\n",
        ),
        (
            "\u{feff}order_id,a\n{id},1\n",
            "\u{feff}order_id,a,{names}\n{id},1,{cells}\n",
        ),
        // Nothing stays nothing.
        (
            "order_id,a\n,1\n\"\",2\n  ,3\n{id},4\n",
            "order_id,a,{names}\n,1,,,\n\"\",2,,,\n  ,3,,,\n{id},4,{cells}\n",
        ),
        // A blank line is no row of two cells, and all of a row of one.
        (
            "order_id,a\n\n{id},1\n\r\n\n",
            "order_id,a,{names}\n{id},1,{cells}\n",
        ),
        (
            "order_id\n\n{id}\n\n",
            "order_id,{names}\n,,,\n{id},{cells}\n,,,\n",
        ),
        ("order_id\n", "order_id,{names}\n"),
        // No UTF-8 beside the id.
        (
            "order_id,é\n{id},ü\n",
            "order_id,é,{names}\n{id},ü,{cells}\n",
        ),
    ] {
        let fill = |text: &str| {
            let text = text.replace("{id}", ID).replace("{cells}", CELLS);
            text.replace("{names}", "time_utc,node,sequence")
        };
        let told = on(&fill(table), "inspect --csv --column order_id --from int").ok();
        assert_eq!(told, fill(added));
    }
}

#[test]
fn columns_are_chosen() {
    let table = format!("a;time;id\n1;2;{ID}\n");
    let line = "inspect --csv --delimiter ; --column id --from int --prefix x_ --columns text,raw,time,unix_ms,hex";
    assert_eq!(
        on(&table, line).ok(),
        format!(
            "a;time;id;x_text;x_raw;x_time;x_unix_ms;x_hex\n\
             1;2;{ID};3vgoe12ccb8gh;63673697622556673;1733706297;1733706297000;3fc30e0898c5a211\n"
        )
    );
    let line = "inspect --csv --layout snowflake --from int --columns id,worker,datacenter 1796226532438290432";
    assert_eq!(
        on("", line).ok(),
        "id,worker,datacenter\n1796226532438290432,27,14\n"
    );
}

#[test]
fn a_list_is_printed_as_a_table() {
    let list = format!("\u{feff}{ID}\r\n\n\u{feff} {ID} ");
    assert_eq!(
        on(
            &list,
            "inspect --csv --from int --columns id,time,node,sequence"
        )
        .ok(),
        format!("id,time,node,sequence\n{ID},1733706297,42,1\n,,,\n{ID},1733706297,42,1\n")
    );
    assert_eq!(
        on("", "inspect --tsv 3vgoe12ccb8gh").ok(),
        "id\ttime_utc\tnode\tsequence\n3vgoe12ccb8gh\t2024-12-09T01:04:57Z\t42\t1\n"
    );
    assert_eq!(
        on(&list, "inspect --jsonl --from int --columns id,node").ok(),
        format!(
            "{{\"id\":\"{ID}\",\"node\":42}}\n{{\"id\":null,\"node\":null}}\n{{\"id\":\"{ID}\",\"node\":42}}\n"
        )
    );
    assert_eq!(on("", "inspect --csv").ok(), "id,time_utc,node,sequence\n");
}

#[test]
fn a_table_without_a_header_has_numbers_of_columns() {
    let table = format!("1,{ID}\n2,\n");
    let told = on(&table, "inspect --csv --no-header --column 2 --from int").ok();
    assert_eq!(told, format!("1,{ID},{CELLS}\n2,,,,\n"));
    for column in ["0", "3", "id", "-1"] {
        let line = format!("inspect --csv --no-header --from int --column={column}");
        let told = on(&table, &line).fails(2);
        assert!(
            told.ends_with("has numbers of columns, here 1 to 2"),
            "{told}"
        );
    }
}

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
    let answer = User::new().run_on(b"\xFF\xFEi\0d\0", &words(line));
    assert!(answer.fails(2).starts_with("the input is UTF-16"));
}

/// As PostgreSQL's COPY writes them; nothing is `\N`. In those of `mysql --batch` it is a word, which is no id.
#[test]
fn tab_separated_values_have_no_quotes() {
    let table = format!("order_id\ta\n{ID}\t\"5 inches\n\\N\tx\n\t\n");
    assert_eq!(
        on(
            &table,
            "inspect --tsv --column order_id --from int --columns node,time"
        )
        .ok(),
        format!(
            "order_id\ta\tnode\ttime\n{ID}\t\"5 inches\t42\t1733706297\n\\N\tx\t\\N\t\\N\n\t\t\t\n"
        )
    );
    let quoted = format!("order_id\ta\n{ID}\t\"1\n2\"\n");
    assert_eq!(
        on(
            &quoted,
            "inspect --csv --delimiter tab --column order_id --from int --columns node"
        )
        .ok(),
        format!("order_id\ta\tnode\n{ID}\t\"1\n2\"\t42\n")
    );
}

#[test]
fn members_are_added_to_objects() {
    let lines = format!(
        "\u{feff}{{\"order_id\":{ID}, \"a\":{{\"order_id\":1}}}} \n\n\u{feff}{{\"b\":1e400,\"order\\u005fid\" : \"{ID}\"}}\r\n\
         {{\"order_id\":null}}\n{{\"order_id\":\"\"}}"
    );
    let added = format!(
        "\u{feff}{{\"order_id\":{ID}, \"a\":{{\"order_id\":1}},{{x}}}} \n\u{feff}{{\"b\":1e400,\"order\\u005fid\" : \"{ID}\",{{x}}}}\r\n\
         {{\"order_id\":null,{{0}}}}\n{{\"order_id\":\"\",{{0}}}}\n"
    );
    let expected = |x: &str| {
        let nothing = "\"int\":null,\"time_utc\":null,\"node\":null";
        added.replace("{x}", x).replace("{0}", nothing)
    };
    let line = "inspect --jsonl --column order_id --from int --columns int,time_utc,node";
    let time = "\"time_utc\":\"2024-12-09T01:04:57Z\",\"node\":42";
    let strings = expected(&format!("\"int\":\"{ID}\",{time}"));
    assert_eq!(on(&lines, line).ok(), strings);
    let numbers = expected(&format!("\"int\":{ID},{time}"));
    assert_eq!(on(&lines, &format!("{line} --json-numbers")).ok(), numbers);
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
            &format!("{{\"id\":[{}]}}", ["1"; 10_000].join(",")),
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

#[test]
fn ids_are_converted_in_their_place() {
    let table = format!("\"a\nb\",id,c\n\"x,y\",\"{ID}\",z\n,{ID},\"\"\n\"\",,1\n");
    let converted = "\"a\nb\",id,c\n\"x,y\",3vgoe12ccb8gh,z\n,3vgoe12ccb8gh,\"\"\n\"\",,1\n";
    let there = "convert --csv --column id --from int --to text";
    assert_eq!(on(&table, there).ok(), converted);
    let back = on(converted, "convert --csv --column id --to int").ok();
    assert_eq!(back, table.replace(&format!("\"{ID}\""), ID));
    // With quotes before it, behind it, on both sides, and its own.
    for quoted in 0..16 {
        let cell = |place: u32, text: &str| match quoted >> place & 1 {
            0 => text.to_owned(),
            _ => format!("\"{text}\""),
        };
        let row = |id: &str| format!("{},{id},{},{}\n", cell(0, "a"), cell(1, "b"), cell(2, ""));
        let last = |id: &str| format!("{},{},{id}\n", cell(0, "a"), cell(1, "b"));
        for (column, row) in [(2, &row as &dyn Fn(&str) -> String), (3, &last)] {
            let line = format!("convert --csv --no-header --column {column} --from int --to text");
            assert_eq!(on(&row(&cell(3, ID)), &line).ok(), row("3vgoe12ccb8gh"));
        }
    }
    // A byte order mark is no part of the cell, also between files that were joined.
    for (column, row) in [(1, "{first},1\n"), (2, "a,{first}\n")] {
        let there = format!("convert --csv --no-header --column {column} --from int --to text");
        for first in [ID.to_owned(), format!("\"{ID}\"")] {
            for mark in ["\u{feff}", "\u{feff}\u{feff}"] {
                let joined = format!("{mark}{row}{row}{mark}{row}{mark}\n{row}");
                let told = on(&joined.replace("{first}", &first), &there).ok();
                let joined = format!("{mark}{row}{row}{mark}{row}{row}");
                assert_eq!(told, joined.replace("{first}", "3vgoe12ccb8gh"));
            }
        }
    }
    let lines = format!("{{\"id\":{ID},\"a\":1}}\n{{\"a\":\"\", \"id\" : \"{ID}\" }}\n");
    let numbers = "{\"id\":63673697622556673,\"a\":1}\n{\"a\":\"\", \"id\" : 63673697622556673 }\n";
    let line = "convert --jsonl --column id --from int --to int --decrypt --json-numbers";
    assert_eq!(on(&lines, line).ok(), numbers);
    let line = "convert --jsonl --column id --from int --to int --encrypt --layout randflake";
    assert_eq!(
        on(numbers, line).ok(),
        lines
            .replace(ID, &format!("\"{ID}\""))
            .replace("\"\"", "\"")
            .replace("\"a\":\",", "\"a\":\"\",")
    );
}

#[test]
fn ids_of_another_layout_are_bad_cells() {
    let table = "id\n1796226532438290432\n-1\n5\n";
    let line = "convert --csv --column id --from int --to int --layout snowflake";
    let told = on(table, line);
    assert_eq!(told.stdout, "id\n1796226532438290432\n");
    let said = told.fails(2);
    assert!(
        said.starts_with(
            "row 2 (line 3), column id: 18446744073709551615: the layout has no such id"
        ),
        "{said}"
    );
    let told = on(table, &format!("{line} --on-error empty"));
    assert_eq!(told.stdout, "id\n1796226532438290432\n\n5\n");
    assert_eq!(told.status, Some(5));
}

/// Rows of all lengths, so that blocks end in all places of them, and one that is longer than a block.
#[test]
fn long_tables_are_those_of_their_rows() {
    let mut table = String::from("id,note\n");
    let mut expected = String::from("id,note,text\n");
    for row in 0_u64..20_000 {
        let id = row.wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed();
        let note = match row {
            10_000 => "y\n".repeat(200_000),
            _ => "\"\"\r\n,".repeat(usize::try_from(row % 7).unwrap()),
        };
        let cells = format!("{id},\"{note}\"");
        writeln!(table, "{cells}").unwrap();
        let text = randflake_std::Id::from_i64(id).to_text();
        writeln!(expected, "{cells},{text}").unwrap();
    }
    let line = "inspect --csv --column id --from int --columns text";
    assert!(on(&table, line).ok() == expected);
    let line = "convert --csv --column 2 --no-header --from int --to int";
    let swapped = "\"a\nb\",5\n".repeat(30_000);
    assert!(on(&swapped, line).ok() == swapped);
}

#[test]
fn a_reader_that_has_enough_ends_a_table_quietly() {
    let user = User::new();
    let mut child = user.start(&words("inspect --csv --column id --from int"));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin
        .write_all(&[&b"id\n"[..], &b"5\n".repeat(100_000)].concat())
        .unwrap();
    let mut first = [0; 27];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"id,time_utc,node,sequence\n5");
    drop(stdout);
    // It ends though its own input goes on.
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.ok(), "");
    drop(stdin);
}
