//! Ids that are converted in their place.

use super::{ID, on};

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
        said.starts_with("row 2 (line 3), column id: -1: the layout has no such id"),
        "{said}"
    );
    let told = on(table, &format!("{line} --on-error empty"));
    assert_eq!(told.stdout, "id\n1796226532438290432\n\n5\n");
    assert_eq!(told.status, Some(5));
}
