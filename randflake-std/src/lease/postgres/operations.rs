//! The operations on the leases of one namespace: each is a call of a function in `schema.sql`.

use core::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::failure::Failure;
use super::session::{Session, number};
use crate::lease::database::sql;
use crate::lease::{AcquireRequest, Acquired, Grant, MAX_SKEW, Record, Renewed, StoreError, Token};

pub(super) async fn acquire(
    session: &Session,
    request: &AcquireRequest<'_>,
) -> Result<Acquired, Failure> {
    StoreError::check(request, &session.namespace, session.max_ttl)?;
    let random = getrandom::u32().map_err(StoreError::unavailable)?;
    // Holders that search at different places do not meet.
    let mut row = ask(session, request, random, false).await?;
    if row.try_get::<_, &str>("outcome")? == "busy" {
        row = ask(session, request, 0, true).await?;
    }
    let now = session.moment(&row)?;
    let until = || number(&row, "until_tick").map(|tick| now.until(tick));
    match row.try_get("outcome")? {
        "granted" => Ok(Acquired {
            grants: grants(&row, request.token)?,
            now: now.unix,
        }),
        "exhausted" => Err(StoreError::Exhausted { retry_in: until()? }.into()),
        "fenced" => Err(StoreError::Fenced { retry_in: until()? }.into()),
        "foreign" => Err(StoreError::Foreign.into()),
        "clock" => {
            now.end_after(request.ttl)?;
            Err(StoreError::unavailable("its clock is outside the layout").into())
        }
        other => {
            Err(StoreError::unavailable(format!("an outcome that is not known: {other}")).into())
        }
    }
}

async fn ask(
    session: &Session,
    request: &AcquireRequest<'_>,
    random: u32,
    waits: bool,
) -> Result<Row, Failure> {
    /// As in `schema.sql`.
    const PAGE: u64 = 256;
    let token = request.token.to_bytes();
    let [a, b, c, d, ..] = token;
    let pages = session.namespace.node_ids().div_ceil(PAGE);
    let first_page = i32::try_from(u64::from(random) % pages).unwrap_or(0);
    session
        .call(
            "acquire",
            &[
                (&session.row, Type::INT4),
                (&&token[..], Type::BYTEA),
                (&request.holder, Type::TEXT),
                (&i64::from(request.count), Type::INT8),
                (&sql(request.ttl), Type::INT8),
                (&max_end(session), Type::INT8),
                (&i32::from_be_bytes([a, b, c, d]), Type::INT4),
                (&first_page, Type::INT4),
                (&waits, Type::BOOL),
            ],
        )
        .await
}

/// No lease ends after the layout's last tick.
fn max_end(session: &Session) -> i64 {
    sql(session.namespace.spec().max_tick().saturating_add(1))
}

fn grants(row: &Row, token: Token) -> Result<Vec<Grant>, Failure> {
    let nodes: Vec<i32> = row.try_get("nodes")?;
    let starts: Vec<i64> = row.try_get("starts")?;
    let ends: Vec<i64> = row.try_get("ends")?;
    let fencing_tokens: Vec<i64> = row.try_get("fencing_tokens")?;
    let columns = nodes.into_iter().zip(starts).zip(ends).zip(fencing_tokens);
    Ok(columns
        .map(|(((node_id, start), end), fencing_token)| Grant {
            node_id: node_id.cast_unsigned(),
            start: start.cast_unsigned(),
            end: end.cast_unsigned(),
            fencing_token: fencing_token.cast_unsigned(),
            token,
        })
        .collect())
}

/// Grants as the columns that name them.
struct Columns {
    nodes: Vec<i64>,
    fencing_tokens: Vec<i64>,
    tokens: Vec<Vec<u8>>,
}

impl Columns {
    fn of(grants: &[Grant]) -> Self {
        Self {
            nodes: grants.iter().map(|grant| grant.node_id.into()).collect(),
            fencing_tokens: grants
                .iter()
                .map(|grant| sql(grant.fencing_token))
                .collect(),
            tokens: grants
                .iter()
                .map(|grant| grant.token.to_bytes().to_vec())
                .collect(),
        }
    }
}

pub(super) async fn renew(
    session: &Session,
    grants: &[Grant],
    ttl: u64,
) -> Result<Renewed, Failure> {
    StoreError::check_ttl(ttl, &session.namespace, session.max_ttl)?;
    let columns = Columns::of(grants);
    let row = session
        .call(
            "renew",
            &[
                (&session.row, Type::INT4),
                (&columns.nodes, Type::INT8_ARRAY),
                (&columns.fencing_tokens, Type::INT8_ARRAY),
                (&columns.tokens, Type::BYTEA_ARRAY),
                (&sql(ttl), Type::INT8),
                (&max_end(session), Type::INT8),
            ],
        )
        .await?;
    let ends: Vec<Option<i64>> = row.try_get("ends")?;
    Ok(Renewed {
        ends: ends
            .into_iter()
            .map(|end| end.map(i64::cast_unsigned))
            .collect(),
        now: session.moment(&row)?.unix,
    })
}

pub(super) async fn release(session: &Session, grants: &[Grant]) -> Result<(), Failure> {
    let columns = Columns::of(grants);
    let ends: Vec<i64> = grants.iter().map(|grant| sql(grant.end)).collect();
    session
        .call(
            "release",
            &[
                (&session.row, Type::INT4),
                (&columns.nodes, Type::INT8_ARRAY),
                (&columns.fencing_tokens, Type::INT8_ARRAY),
                (&columns.tokens, Type::BYTEA_ARRAY),
                (&ends, Type::INT8_ARRAY),
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn list(session: &Session) -> Result<Vec<Record>, Failure> {
    const LIST: &str = "
        SELECT node_id, start_tick, end_tick, fencing_token, token, holder FROM randflake.lease
        WHERE namespace = $1 AND fencing_token > 0
        ORDER BY node_id";
    let rows = session
        .client
        .query_typed(LIST, &[(&session.row, Type::INT4)])
        .await?;
    rows.iter().map(record).collect()
}

fn record(row: &Row) -> Result<Record, Failure> {
    let token: &[u8] = row.try_get("token")?;
    let token = token
        .try_into()
        .map_err(|_| StoreError::Unusable("the lease store was damaged: token".to_owned()))?;
    Ok(Record {
        grant: Grant {
            node_id: row.try_get::<_, i32>("node_id")?.cast_unsigned(),
            start: number(row, "start_tick")?,
            end: number(row, "end_tick")?,
            fencing_token: number(row, "fencing_token")?,
            token: Token::from_bytes(token),
        },
        holder: row.try_get("holder")?,
    })
}

pub(super) async fn fence(session: &Session) -> Result<Duration, Failure> {
    let skew_ms = i64::try_from(MAX_SKEW.as_millis()).unwrap_or(i64::MAX);
    let row = session
        .call(
            "fence",
            &[(&session.row, Type::INT4), (&skew_ms, Type::INT8)],
        )
        .await?;
    let now = session.moment(&row)?;
    Ok(now.until(number(&row, "until_tick")?))
}

pub(super) async fn now(session: &Session) -> Result<Duration, Failure> {
    let row = session
        .client
        .query_typed_one("SELECT randflake.unix_us() AS unix_us", &[])
        .await?;
    Ok(Duration::from_micros(number(&row, "unix_us")?))
}
