//! The key of a database of MySQL or MariaDB.
//!
//! These have no way to bring a value that no log can have: the general log and the slow log show
//! the values of prepared statements too. So the server makes random numbers, which it keeps in
//! variables of the session; they are fetched, and statements have the key only after an exclusive
//! or with them. The answers of a server are in none of its logs.

use core::iter::zip;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Params, Value};
use randflake_std::KeyNumber;
use randflake_std::lease::MysqlStore;
use zeroize::Zeroizing;

use super::super::template::fill;
use super::{DatabaseKey, DatabaseKeys, KeysThere, State, judged};
use super::{Outcome, Target, unconnected};
use crate::failure::Failure;

/// A sentence on what is not as `randflake sql mysql` makes it; NULL if nothing is. Functions of
/// another user would be run with this one's rights.
const DISTRUST: &str = include_str!("../../../../sql/mysql/key/distrust.sql");
/// The namespace that a database is for, and the check value of its key.
const STATE: &str = include_str!("../../../../sql/mysql/key/state.sql");
/// The same of a database for tagged UUIDs, in a row for each key.
const TAG_STATE: &str = include_str!("../../../../sql/mysql/key/tag_state.sql");
/// Whether the database is for tagged UUIDs.
const KIND: &str = include_str!("../../../../sql/mysql/key/kind.sql");

pub(super) fn bring<'a>(
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
) -> Result<Outcome<'a>, Failure> {
    MysqlStore::with_client(&target.url.clone().into_location()?, async |client: &mut Conn| {
        let outcome = judge(client, target, keys).await?;
        if let Ok(Outcome::Brought(key)) = outcome {
            if !target.may_be_published && !leave_out_of_binary_log(client).await? {
                return Ok(Err(Failure::failed(
                    "the server writes a binary log, which would have the key, and this user may not leave a session out of \
                     it: grant BINLOG ADMIN (MariaDB) or SESSION_VARIABLES_ADMIN (MySQL), or give the key to its replicas \
                     and backups too, with --published",
                )));
            }
            put(client, target.schema, keys.number(), key).await?;
        }
        Ok(outcome)
    })
    .map_err(unconnected)?
}

/// What is to become of the key, or why it is refused.
async fn judge<'a>(
    client: &mut Conn,
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
) -> Result<Result<Outcome<'a>, Failure>, Error> {
    let schema = target.schema;
    let distrust: Option<Option<String>> = client.query_first(of(DISTRUST, schema)).await?;
    if let Some(why) = distrust.flatten() {
        return Ok(Err(Failure::Failed(why)));
    }
    let found = state(client, schema).await?;
    Ok(judged(target, keys, ("database", "`key`"), &found))
}

async fn state(client: &mut Conn, schema: &str) -> Result<State, Error> {
    if client.query_first(of(KIND, schema)).await? == Some(true) {
        return tag_state(client, schema).await;
    }
    let row = client.query_first(of(STATE, schema)).await?;
    let (namespace, check, is_53) = row.unwrap_or_default();
    Ok(State {
        namespace,
        keys: KeysThere::OfIds { check, is_53 },
    })
}

async fn tag_state(client: &mut Conn, schema: &str) -> Result<State, Error> {
    let rows: Vec<(String, Option<i32>, Option<String>)> =
        client.query(of(TAG_STATE, schema)).await?;
    let namespace = rows.first().map(|(namespace, ..)| namespace.clone());
    // Without a key there is one row, without a number.
    let keys = rows
        .into_iter()
        .filter_map(|(_, number, check)| number.zip(check));
    Ok(State {
        namespace: namespace.unwrap_or_default(),
        keys: KeysThere::OfTags(keys.collect()),
    })
}

/// Whether what follows is in no binary log: there is none, or the session leaves it.
async fn leave_out_of_binary_log(client: &mut Conn) -> Result<bool, Error> {
    /// A privilege is missing.
    const DENIED: u16 = 1227;
    let is_on: Option<bool> = client.query_first("SELECT @@GLOBAL.log_bin").await?;
    if is_on == Some(false) {
        return Ok(true);
    }
    match client.query_drop("SET SESSION sql_log_bin = 0").await {
        Err(Error::Server(error)) if error.code == DENIED => Ok(false),
        other => other.map(|()| true),
    }
}

async fn put(
    client: &mut Conn,
    schema: &str,
    number: Option<KeyNumber>,
    key: &DatabaseKey,
) -> Result<(), Error> {
    // The second words of a round go behind the first ones.
    let (pairs, _) = key.round_keys.as_chunks::<2>();
    let packed = pairs.iter().map(|[x, y]| (x | y << 16).cast_unsigned());
    let packed: Zeroizing<Vec<u64>> = Zeroizing::new(packed.collect());
    let each = |text: fn(usize) -> String| {
        let all: Vec<_> = (1..=packed.len()).map(text).collect();
        all.join(", ")
    };
    let masks = each(|i| format!("@randflake_{i} = CONV(HEX(RANDOM_BYTES(8)), 16, 10)"));
    client.query_drop(format!("SET {masks}")).await?;
    let masks = each(|i| format!("@randflake_{i}"));
    let masks: Option<String> = client
        .query_first(format!("SELECT CONCAT_WS(' ', {masks})"))
        .await?;
    let masks = Zeroizing::new(masks.unwrap_or_default());
    let masks = masks.split(' ').filter_map(|mask| mask.parse::<u64>().ok());
    let masked = zip(&*packed, masks).map(|(key, mask)| Value::UInt(key ^ mask));
    let check = Value::from(key.check.as_str());
    let (numbered, place) = match number {
        Some(_) => ("number, ", "?, "),
        None => ("", ""),
    };
    let number = number.map(|number| Value::from(number.get()));
    let values: Vec<_> = number.into_iter().chain([check]).chain(masked).collect();
    let columns = each(|i| format!("k{i}"));
    let unmasked = each(|i| format!("? ^ CAST(@randflake_{i} AS UNSIGNED)"));
    let insert = format!(
        "INSERT INTO `{schema}`.`key` ({numbered}check_value, {columns}) VALUES ({place}?, {unmasked})"
    );
    client.exec_drop(insert, Params::Positional(values)).await?;
    let forgotten = each(|i| format!("@randflake_{i} = NULL"));
    client.query_drop(format!("SET {forgotten}")).await
}

/// The statement for a database, whose name needs no quotes in it.
fn of(statement: &str, schema: &str) -> String {
    fill(statement, &[("schema", schema.to_owned())])
}
