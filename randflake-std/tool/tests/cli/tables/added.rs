//! Columns that are added to a table, and tables of ids alone.

use super::{CELLS, ID, on};

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
