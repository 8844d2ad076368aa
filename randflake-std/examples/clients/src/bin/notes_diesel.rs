//! Notes, with `diesel`. The column keeps ids raw, so that new rows go to the end of the table; the
//! program sees and shows encrypted ids alone.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context as _;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Randflake, Secret, Sparx64, StoredPlain, typed_id};

diesel::table! {
    notes (id) {
        id -> BigInt,
        follows -> Nullable<BigInt>,
        text -> Text,
    }
}

#[derive(Insertable, Queryable)]
#[diesel(table_name = notes)]
struct Note {
    id: NoteId,
    follows: Option<NoteId>,
    text: String,
}

typed_id!(NoteId = StoredRaw<Note>, "note");

static CIPHER: OnceLock<Sparx64> = OnceLock::new();

impl StoredPlain for Note {
    fn cipher() -> Option<&'static Sparx64> {
        CIPHER.get()
    }
}

fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(env::var("DATA")?);
    let secret = Secret::from_file(folder.join("randflake.key"))?;
    CIPHER.get_or_init(|| secret.cipher());
    let namespace = Namespace::new("notes", Randflake)?;
    let store = SqliteStore::open(folder.join("leases.db"), &namespace)?;
    let ids = Handle::builder(&secret, store).build()?;

    let file = folder.join("notes.db");
    let mut rows = SqliteConnection::establish(file.to_str().context("the path is not UTF-8")?)?;
    let table = "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, follows INTEGER, text TEXT NOT NULL)";
    diesel::sql_query(table).execute(&mut rows)?;
    let first = Note {
        id: NoteId::new(ids.generate()?.typed())?,
        follows: None,
        text: "Buy milk".to_owned(),
    };
    let second = Note {
        id: NoteId::new(ids.generate()?.typed())?,
        follows: Some(first.id),
        text: "Drink it".to_owned(),
    };
    diesel::insert_into(notes::table)
        .values([first, second])
        .execute(&mut rows)?;

    let last: Note = notes::table.order(notes::id.desc()).first(&mut rows)?;
    let follows = last.follows.context("the last note follows none")?;
    println!("{} follows {follows}: {}", last.id, last.text);
    Ok(ids.close()?)
}
