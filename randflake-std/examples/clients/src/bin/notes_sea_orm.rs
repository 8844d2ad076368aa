//! Notes in a database, with `SeaORM`.

use std::env;
use std::path::PathBuf;

use anyhow::Context as _;
use randflake_std::lease::{self, Namespace, SqliteStore};
use randflake_std::{Handle, Randflake, Secret, typed_id};
use sea_orm::entity::prelude::*;
use sea_orm::{Database, Schema, Set};

#[derive(Clone, Debug, DeriveEntityModel)]
#[sea_orm(table_name = "notes")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    id: NoteId,
    follows: Option<NoteId>,
    text: String,
}

#[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

typed_id!(pub NoteId = Id<Entity>, "note");

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(env::var("DATA")?);
    let secret = Secret::from_file(folder.join("randflake.key"))?;
    let namespace = Namespace::new("notes", Randflake)?;
    let leases = folder.join("leases.db");
    let store = lease::deferred(&namespace, move |of| SqliteStore::open(&leases, of));
    let ids = Handle::builder(&secret, store).build_async().await?;

    let file = folder.join("notes.db");
    let rows = Database::connect(format!("sqlite://{}?mode=rwc", file.display())).await?;
    let schema = Schema::new(rows.get_database_backend());
    rows.execute(&schema.create_table_from_entity(Entity))
        .await?;
    let first = ActiveModel {
        id: Set(ids.generate()?.typed()),
        follows: Set(None),
        text: Set("Buy milk".to_owned()),
    };
    let first = first.insert(&rows).await?;
    let second = ActiveModel {
        id: Set(ids.generate()?.typed()),
        follows: Set(Some(first.id)),
        text: Set("Drink it".to_owned()),
    };
    second.insert(&rows).await?;

    let question = Entity::find().filter(Column::Follows.eq(first.id));
    let Model { id, text, .. } = question.one(&rows).await?.context("no note follows")?;
    println!("{id} follows {}: {text}", first.id);
    Ok(ids.close_async().await?)
}
