//! The key of a schema in PostgreSQL.

use core::pin::pin;

use randflake_std::lease::PostgresStore;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::super::template::fill;
use super::{DatabaseKey, DatabaseKeys, Outcome, State, Target, judged, unconnected};
use crate::failure::Failure;

/// A sentence on what is not as `randflake sql postgres` makes it, if anything is: whoever owns the table or has a trigger
/// on it would get the key.
const DISTRUST: &str = include_str!("../../../../sql/postgres/key/distrust.sql");
/// The namespace that the schema is for, and the check value of its key.
const STATE: &str = include_str!("../../../../sql/postgres/key/state.sql");
/// Other schemas of this role's.
const OTHERS: &str = include_str!("../../../../sql/postgres/key/others.sql");
/// No value is in the text of a statement: logs have those. Binary, because the context of an error would show a line of text.
const COPY: &str = include_str!("../../../../sql/postgres/key/copy.sql");

pub(super) fn bring<'a>(
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
) -> Result<Outcome<'a>, Failure> {
    PostgresStore::with_client(target.url, async |client: &mut Client| {
        let outcome = judge(client, target, keys).await?;
        if let Ok(Outcome::Brought(key)) = outcome {
            copy(client, target.schema, key).await?;
        }
        Ok(outcome)
    })
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
    if let Some(row) = client.query_typed_opt(DISTRUST, &values).await? {
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
        if found.check.as_ref() == Some(&key.check) && found.namespace != *namespace {
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
    let row = client.query_typed_one(&of(STATE, schema), &[]).await?;
    Ok(State {
        namespace: row.try_get(0)?,
        check: row.try_get(1)?,
        is_53: row.try_get(2)?,
    })
}

async fn copy(client: &Client, schema: &str, key: &DatabaseKey) -> Result<(), Error> {
    let sink = client.copy_in(&of(COPY, schema)).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(
        sink,
        &[Type::INT8_ARRAY, Type::TEXT]
    ));
    writer
        .as_mut()
        .write(&[&key.round_keys.as_slice(), &key.check])
        .await?;
    writer.finish().await?;
    Ok(())
}

/// The statement for a schema, whose name needs no quotes.
fn of(statement: &str, schema: &str) -> String {
    fill(statement, &[("schema", schema.to_owned())])
}
