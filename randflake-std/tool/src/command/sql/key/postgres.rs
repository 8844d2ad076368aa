//! The key of a schema in PostgreSQL.

use core::pin::pin;

use randflake_std::KeyNumber;
use randflake_std::lease::PostgresStore;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use super::super::dialects::common_values;
use super::super::template::fill;
use super::{DatabaseKey, DatabaseKeys, KeysThere, State, judged};
use super::{Outcome, Target, unconnected};
use crate::failure::Failure;

/// Query for the first difference from what `randflake sql postgres` makes, as a sentence: the
/// owner of the table, or of a trigger on it, would get the key.
const DISTRUST: &str = include_str!("../../../../sql/postgres/key/distrust.sql");
/// The namespace that the schema is for, and the check value of its key.
const STATE: &str = include_str!("../../../../sql/postgres/key/state.sql");
/// The same of a schema for tagged UUIDs, in a row for each key.
const TAG_STATE: &str = include_str!("../../../../sql/postgres/key/tag_state.sql");
/// Whether the schema is for tagged UUIDs.
const KIND: &str = include_str!("../../../../sql/postgres/key/kind.sql");
/// Other schemas of this role's.
const OTHERS: &str = include_str!("../../../../sql/postgres/key/others.sql");
/// No value is in the text of a statement: logs have those. Binary, because the context of an error
/// would show a line of text.
const COPY: &str = include_str!("../../../../sql/postgres/key/copy.sql");
/// The same of a key of tags.
const TAG_COPY: &str = include_str!("../../../../sql/postgres/key/tag_copy.sql");

pub(super) fn bring<'a>(
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
) -> Result<Outcome<'a>, Failure> {
    PostgresStore::with_client(
        &target.url.clone().into_location()?,
        async |client: &mut Client| {
            let outcome = judge(client, target, keys).await?;
            if let Ok(Outcome::Brought(key)) = outcome {
                copy(client, target.schema, keys.number(), key).await?;
            }
            Ok(outcome)
        },
    )
    .map_err(unconnected)?
}

/// What is to become of the key, or why it is refused.
async fn judge<'a>(
    client: &Client,
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
) -> Result<Result<Outcome<'a>, Failure>, Error> {
    let Target {
        namespace, schema, ..
    } = target;
    // Operators and functions of other schemas would be run with this role's rights.
    let path = "SET search_path = pg_catalog, pg_temp";
    client.batch_execute(path).await?;
    let values = [
        (schema as _, Type::TEXT),
        (&target.may_be_published as _, Type::BOOL),
    ];
    if let Some(row) = client
        .query_typed_opt(&of(DISTRUST, schema), &values)
        .await?
    {
        return Ok(Err(Failure::Failed(row.try_get(0)?)));
    }
    let found = state(client, schema).await?;
    let outcome = judged(target, keys, ("schema", "key"), &found);
    let Ok(Outcome::Brought(key)) = outcome else {
        return Ok(outcome);
    };
    for row in client.query_typed(OTHERS, &values[..1]).await? {
        let other: String = row.try_get(0)?;
        let found = state(client, &other).await?;
        if has(&found.keys, &key.check) && found.namespace != *namespace {
            return Ok(Err(Failure::failed(format!(
                "the schema {other} has this key, for the namespace {:?}: two namespaces under one secret have equal ids; \
                 make one of its own with randflake keygen --derive {namespace}",
                found.namespace
            ))));
        }
    }
    Ok(outcome)
}

async fn state(client: &Client, schema: &str) -> Result<State, Error> {
    let is_tagged = client.query_typed_one(&of(KIND, schema), &[]).await?;
    if is_tagged.try_get(0)? {
        return tag_state(client, schema).await;
    }
    let row = client.query_typed_one(&of(STATE, schema), &[]).await?;
    Ok(State {
        namespace: row.try_get(0)?,
        keys: KeysThere::OfIds {
            check: row.try_get(1)?,
            is_53: row.try_get(2)?,
        },
    })
}

async fn tag_state(client: &Client, schema: &str) -> Result<State, Error> {
    let mut namespace = String::new();
    let mut keys = Vec::new();
    for row in client.query_typed(&of(TAG_STATE, schema), &[]).await? {
        namespace = row.try_get(0)?;
        // Without a key there is one row, without a number.
        if let Some(number) = row.try_get(1)? {
            keys.push((number, row.try_get(2)?));
        }
    }
    Ok(State {
        namespace,
        keys: KeysThere::OfTags(keys),
    })
}

/// Whether one of the keys has this check value.
fn has(keys: &KeysThere, check: &str) -> bool {
    match keys {
        KeysThere::OfIds { check: there, .. } => there.as_deref() == Some(check),
        KeysThere::OfTags(there) => there.iter().any(|(_, there)| there == check),
    }
}

async fn copy(
    client: &Client,
    schema: &str,
    number: Option<KeyNumber>,
    key: &DatabaseKey,
) -> Result<(), Error> {
    let DatabaseKey { round_keys, check } = key;
    let number = number.map(|number| i32::from(number.get()));
    let (statement, number) = match &number {
        Some(number) => (TAG_COPY, Some((number as &(dyn ToSql + Sync), Type::INT4))),
        None => (COPY, None),
    };
    let columns: [(&(dyn ToSql + Sync), Type); 2] = [
        (&round_keys.as_slice(), Type::INT8_ARRAY),
        (check, Type::TEXT),
    ];
    let (values, types): (Vec<_>, Vec<_>) = number.into_iter().chain(columns).unzip();
    let sink = client.copy_in(&of(statement, schema)).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    writer.as_mut().write(&values).await?;
    writer.finish().await?;
    Ok(())
}

/// The statement for a schema, whose name needs no quotes.
fn of(statement: &str, schema: &str) -> String {
    let schema = [("schema", schema.to_owned())];
    let values: Vec<_> = schema.into_iter().chain(common_values()).collect();
    fill(statement, &values)
}
