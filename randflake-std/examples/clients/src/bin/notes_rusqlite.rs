//! Ids in a table of `rusqlite`, in a file; the leases are in a file beside it.

use std::env;
use std::path::PathBuf;

use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Randflake, Secret, typed_id};
use rusqlite::Connection;

enum Note {}
typed_id!(NoteId = Id<Note>, "note");

fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(env::var("DATA")?);
    let secret = Secret::from_file(folder.join("randflake.key"))?;
    let store = SqliteStore::open(
        folder.join("leases.db"),
        &Namespace::new("notes", Randflake)?,
    )?;
    let ids = Handle::builder(&secret, store).build()?;

    let rows = Connection::open(folder.join("notes.db"))?;
    rows.execute_batch(
        "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, follows INTEGER, text TEXT NOT NULL)",
    )?;
    let first: NoteId = ids.generate()?.typed();
    let second: NoteId = ids.generate()?.typed();
    let insert = "INSERT INTO notes VALUES (?1, ?2, ?3)";
    rows.execute(insert, (first, None::<NoteId>, "Buy milk"))?;
    rows.execute(insert, (second, Some(first), "Drink it"))?;

    let question = "SELECT follows, text FROM notes WHERE id = ?1";
    let (follows, text): (Option<NoteId>, String) =
        rows.query_one(question, [second], |row| row.try_into())?;
    assert_eq!(follows, Some(first));
    println!("{second} follows {first}: {text}");
    Ok(ids.close()?)
}
