//! The operations on the leases of one namespace: each is a call of a procedure in `schema.sql`.

use core::fmt::Write;
use core::time::Duration;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Params, Row};

use super::failure::Failure;
use super::session::{Session, read};
use crate::lease::database::sql;
use crate::lease::{AcquireRequest, Acquired, Grant, MAX_SKEW, Record, Renewed, StoreError, Token};

/// The longest name of a holder that the tables keep, in bytes.
const MAX_HOLDER_LEN: usize = 1_024;

/// Calls a procedure: its answer is rows of one kind, and then of another.
pub(super) async fn call<A: FromRow, B: FromRow>(
    session: &mut Session,
    call: &str,
    parameters: impl Into<Params> + Send,
) -> Result<(Vec<A>, Vec<B>), Failure> {
    let mut answer = session.connection.exec_iter(call, parameters).await?;
    let first: Vec<Row> = answer.collect().await?;
    let second: Vec<Row> = answer.collect().await?;
    answer.drop_result().await?;
    let first = first.into_iter().map(read).collect::<Result<_, _>>()?;
    let second = second.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok((first, second))
}

/// The one row of an answer.
pub(super) fn only<T>(rows: Vec<T>) -> Result<T, StoreError> {
    let row = rows.into_iter().next();
    row.ok_or_else(|| StoreError::unavailable("an answer without a row"))
}

/// What an acquire came to, the server's clock in microseconds, and a tick to wait for.
type Outcome = (String, u64, Option<u64>);
/// Node id, start, end and fencing token.
type Granted = (u32, u64, u64, u64);

pub(super) async fn acquire(
    session: &mut Session,
    request: &AcquireRequest<'_>,
) -> Result<Acquired, Failure> {
    StoreError::check(request, &session.namespace, session.max_ttl)?;
    if request.holder.len() > MAX_HOLDER_LEN {
        return Err(StoreError::Invalid(format!(
            "the holder's name has {} bytes: at most {MAX_HOLDER_LEN} are allowed",
            request.holder.len()
        ))
        .into());
    }
    let random = getrandom::u32().map_err(StoreError::unavailable)?;
    // Holders that search at different places do not meet.
    let (mut outcome, mut granted) = ask(session, request, random, false).await?;
    if outcome.0 == "busy" {
        (outcome, granted) = ask(session, request, 0, true).await?;
    }
    let (outcome, unix_us, until_tick) = outcome;
    let now = session.moment(unix_us)?;
    let retry_in = now.until(until_tick.unwrap_or(now.tick));
    let token = request.token;
    match &*outcome {
        "granted" => Ok(Acquired {
            grants: granted.into_iter().map(|row| grant(row, token)).collect(),
            now: now.unix,
        }),
        "exhausted" => Err(StoreError::Exhausted { retry_in }.into()),
        "fenced" => Err(StoreError::Fenced { retry_in }.into()),
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
    session: &mut Session,
    request: &AcquireRequest<'_>,
    random: u32,
    waits: bool,
) -> Result<(Outcome, Vec<Granted>), Failure> {
    /// As in `schema.sql`.
    const PAGE: u64 = 256;
    let pages = session.namespace.node_ids().div_ceil(PAGE);
    let parameters = (
        session.row,
        &request.token.to_bytes()[..],
        request.holder.as_bytes(),
        request.count,
        sql(request.ttl),
        max_end(session),
        u64::from(random) % pages,
        waits,
    );
    let acquire = "CALL randflake_acquire(?, ?, ?, ?, ?, ?, ?, ?)";
    let (outcome, granted) = call(session, acquire, parameters).await?;
    Ok((only(outcome)?, granted))
}

fn grant((node_id, start, end, fencing_token): Granted, token: Token) -> Grant {
    Grant {
        node_id,
        start,
        end,
        fencing_token,
        token,
    }
}

/// No lease ends after the layout's last tick.
fn max_end(session: &Session) -> i64 {
    sql(session.namespace.spec().max_tick().saturating_add(1))
}

/// Grants as the JSON array that the procedures take.
fn json(grants: &[Grant]) -> String {
    let mut text = String::from("[");
    for grant in grants {
        let comma = if text.len() > 1 { "," } else { "" };
        let (fencing_token, end) = (sql(grant.fencing_token), sql(grant.end));
        let (node_id, token) = (grant.node_id, grant.token);
        // Writing to a string cannot fail.
        _ = write!(text, "{comma}[{node_id},{fencing_token},\"{token}\",{end}]");
    }
    text.push(']');
    text
}

pub(super) async fn renew(
    session: &mut Session,
    grants: &[Grant],
    ttl: u64,
) -> Result<Renewed, Failure> {
    StoreError::check_ttl(ttl, &session.namespace, session.max_ttl)?;
    let parameters = (session.row, json(grants), sql(ttl), max_end(session));
    let (unix_us, ends) = call(session, "CALL randflake_renew(?, ?, ?, ?)", parameters).await?;
    Ok(Renewed {
        ends: ends.into_iter().map(|(end,)| end).collect(),
        now: session.moment(only(unix_us)?)?.unix,
    })
}

pub(super) async fn release(session: &mut Session, grants: &[Grant]) -> Result<(), Failure> {
    let mut grants = grants.to_vec();
    grants.sort_unstable_by_key(|grant| grant.node_id);
    let parameters = (session.row, json(&grants));
    let release = "CALL randflake_release(?, ?)";
    Ok(session.connection.exec_drop(release, parameters).await?)
}

pub(super) async fn list(session: &mut Session) -> Result<Vec<Record>, Failure> {
    const LIST: &str = "
        SELECT node_id, start_tick, end_tick, fencing_token, token, holder FROM randflake_lease
        WHERE namespace = ? AND fencing_token > 0
        ORDER BY node_id";
    let rows: Vec<Row> = session.connection.exec(LIST, (session.row,)).await?;
    let records = rows.into_iter().map(record);
    Ok(records.collect::<Result<_, _>>()?)
}

fn record(row: Row) -> Result<Record, StoreError> {
    let (node_id, start, end, fencing_token, token, holder) = read(row)?;
    let token: Vec<u8> = token;
    let token = token.try_into();
    let token =
        token.map_err(|_| StoreError::Unusable("the lease store was damaged".to_owned()))?;
    let granted = (node_id, start, end, fencing_token);
    Ok(Record {
        grant: grant(granted, Token::from_bytes(token)),
        holder,
    })
}

pub(super) async fn fence(session: &mut Session) -> Result<Duration, Failure> {
    let skew_ms = u64::try_from(MAX_SKEW.as_millis()).unwrap_or(u64::MAX);
    let parameters = (session.row, skew_ms);
    let (rows, _): (_, Vec<Row>) = call(session, "CALL randflake_fence(?, ?)", parameters).await?;
    let (unix_us, until_tick): (u64, u64) = only(rows)?;
    Ok(session.moment(unix_us)?.until(until_tick))
}

/// In microseconds.
pub(super) async fn clock(session: &mut Session) -> Result<u64, Failure> {
    let connection = &mut session.connection;
    let ask = "CALL randflake_clock(@randflake_unix_us)";
    connection.query_drop(ask).await?;
    let row: Option<Row> = connection.query_first("SELECT @randflake_unix_us").await?;
    let (unix_us,) = read(only(row.into_iter().collect())?)?;
    Ok(unix_us)
}
