//! Leases for programs that issue ids themselves. They are answered as the JSON objects of
//! `randflake lease --json`.

use core::ops::Range;
use core::time::Duration;

use super::session::{Answered, CommandArgs, RespSession};
use crate::refusal::Refusal;
use crate::service::{AcquireParameters, LeaseQuery, MAX_LEASES, digits};
use randflake_common::leases::{LeaseDocument, LeaseRow};

/// Memory of a lease and its JSON, in bytes.
const LEASE_REPLY: usize = 1 << 10;

/// `LEASE.ACQUIRE namespace [COUNT k | NODES n,n] [EX seconds | PX milliseconds] [HOLDER name]`: an
/// object that `LEASE.RENEW` and `LEASE.RELEASE` take.
pub(super) async fn acquire(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    const USAGE: &str = "LEASE.ACQUIRE namespace [COUNT k | NODES n,n] [EX seconds | PX milliseconds] [HOLDER name]";
    let mut asked = AcquireParameters::default();
    for (option, value) in options(words, 2..words.len(), USAGE)? {
        match &*option {
            "COUNT" => asked.count = Some(number(value, "COUNT")?),
            "NODES" => {
                let nodes = value.split(',').map(|node| number(node, "NODES"));
                asked.node_ids = Some(nodes.collect::<Result<_, _>>()?);
            }
            "HOLDER" => asked.holder = Some(value.to_owned()),
            option => asked.ttl_ms = Some(ttl_ms(option, value, USAGE)?),
        }
    }
    let listed = asked.node_ids.as_ref().map(Vec::len);
    let count = listed.unwrap_or(asked.count.unwrap_or(1) as usize);
    // Before the store grants anything: leases that cannot be answered are nobody's until they
    // expire. What is more than allowed is refused later.
    session
        .hold(count.min(MAX_LEASES as usize) * LEASE_REPLY)
        .await?;
    let principal = session.principal()?;
    let service = session.service.clone();
    let document = service.acquire(&principal, words.text(1)?, asked).await?;
    session.out.json(&document)
}

/// `LEASE.RENEW object REQUEST id [EX seconds | PX milliseconds]`: the object with new ends. What
/// is lost is named in it.
pub(super) async fn renew(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    const USAGE: &str = "LEASE.RENEW object REQUEST id [EX seconds | PX milliseconds]";
    let (mut request, mut ttl) = (None, None);
    for (option, value) in options(words, 2..words.len(), USAGE)? {
        match &*option {
            "REQUEST" => request = Some(value),
            option => ttl = Some(Duration::from_millis(ttl_ms(option, value, USAGE)?)),
        }
    }
    let principal = session.principal()?;
    let service = session.service.clone();
    // Without `hold`: the answer is about as long as the object, and the memory of long input is
    // taken twice, for what it is answered.
    let renewed = service.renew(&principal, document(words)?, request, ttl);
    let document = renewed.await?;
    session.out.json(&document)
}

/// `LEASE.RELEASE object REQUEST id [UNUSED-FROM unix_ms]`: ends the leases. If it is not said
/// since when nothing was issued, their node ids are free 15 s later.
pub(super) async fn release(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    const USAGE: &str = "LEASE.RELEASE object REQUEST id [UNUSED-FROM unix_ms]";
    let (mut request, mut unused_from) = (None, None);
    for (option, value) in options(words, 2..words.len(), USAGE)? {
        match &*option {
            "REQUEST" => request = Some(value),
            "UNUSED-FROM" => {
                unused_from = Some(Duration::from_millis(number(value, "UNUSED-FROM")?));
            }
            _ => return Err(syntax(USAGE)),
        }
    }
    let principal = session.principal()?;
    let service = session.service.clone();
    let released = service.release(&principal, document(words)?, request, unused_from);
    released.await?;
    session.out.simple("OK");
    Ok(())
}

/// `LEASE.LIST namespace [FROM cursor] [COUNT n] [ALL]`: the next cursor, or 0 at the end, and an
/// array of JSON objects, one for each lease, as `SCAN` answers; with `ALL` also expired ones.
pub(super) async fn list(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    const USAGE: &str = "LEASE.LIST namespace [FROM cursor] [COUNT n] [ALL]";
    // The one option without a value, so that the others are pairs.
    let last = words.get(words.len() - 1).unwrap_or_default();
    let all = words.len() > 2 && last.eq_ignore_ascii_case(b"ALL");
    let end = words.len() - usize::from(all);
    let mut asked = LeaseQuery {
        all,
        ..LeaseQuery::default()
    };
    for (option, value) in options(words, 2..end, USAGE)? {
        match &*option {
            "FROM" => asked.from = number(value, "FROM")?,
            "COUNT" => asked.most = number(value, "COUNT")?,
            _ => return Err(syntax(USAGE)),
        }
    }
    session
        .hold(asked.most.min(MAX_LEASES) as usize * LEASE_REPLY)
        .await?;
    let principal = session.principal()?;
    let service = session.service.clone();
    let listed = service.list(&principal, words.text(1)?, asked).await?;
    session.out.array(2);
    session
        .out
        .bulk(listed.next.unwrap_or(0).to_string().as_bytes());
    let records = listed.snapshot.records();
    session.out.array(records.len());
    let mut rows = records
        .iter()
        .map(|record| LeaseRow::of(&listed.snapshot, record));
    rows.try_for_each(|row| session.out.json(&row))
}

fn document(words: CommandArgs<'_>) -> Result<LeaseDocument, Refusal> {
    // The object as it was answered: its members are checked by the type, its leases by the store.
    serde_json::from_slice(words.get(1).unwrap_or_default()).map_err(|error| {
        Refusal::invalid(format!(
            "this is not what LEASE.ACQUIRE or LEASE.RENEW answered: {error}"
        ))
    })
}

/// Pairs of a name in upper case and a value.
fn options<'a>(
    words: CommandArgs<'a>,
    places: Range<usize>,
    usage: &str,
) -> Result<Vec<(String, &'a str)>, Refusal> {
    let texts: Result<Vec<_>, _> = places.map(|at| words.text(at)).collect();
    let texts = texts?;
    let (pairs, rest) = texts.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(syntax(usage));
    }
    Ok(pairs
        .iter()
        .map(|&[name, value]| (name.to_ascii_uppercase(), value))
        .collect())
}

fn ttl_ms(option: &str, value: &str, usage: &str) -> Result<u64, Refusal> {
    match option {
        "EX" => Ok(number::<u64>(value, "EX")?.saturating_mul(1_000)),
        "PX" => number(value, "PX"),
        _ => Err(syntax(usage)),
    }
}

fn number<T: TryFrom<u64>>(text: &str, option: &str) -> Result<T, Refusal> {
    let number = digits(text).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| {
        Refusal::invalid(format!(
            "{text:?} is no value of {option}: a number in digits is allowed"
        ))
    })
}

fn syntax(usage: &str) -> Refusal {
    Refusal::invalid(format!("syntax error: {usage} is allowed"))
}
