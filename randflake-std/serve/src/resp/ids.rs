//! Ids: `INCR`, `GET` and `MGET` for clients that know Redis only, `ID.NEXT` and `ID.INSPECT` for the others.

use randflake_std::Id;

use super::session::{Answered, CommandArgs, RespSession};
use crate::service::ids_format::IdsFormat;
use crate::service::refusal::Refusal;
use crate::service::{check_count, digits, read_id};
use randflake_common::form::TextForm;

/// Memory of an id and its longest reply, in bytes.
const ID_REPLY: usize = 40;

/// `INCR namespace`: a number, as Redis answers it. JavaScript rounds one of 64 bits: use `GET`, or `ID.NEXT`, or ids of 53 bits.
pub(super) async fn incr(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let id = one(session, words.get(1).unwrap_or_default()).await?;
    session.out.int_id(id);
    Ok(())
}

/// `INCRBY namespace 1`, which some clients send for `INCR`.
pub(super) async fn incr_by(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    // Whoever adds 10 expects the nine before to be theirs, too.
    if words.get(2) != Some(b"1") {
        return Err(Refusal::invalid(
            "ids do not follow each other: INCRBY takes 1 only; for more ids use ID.NEXT namespace COUNT n",
        ));
    }
    incr(session, words).await
}

/// `GET namespace`: the digits of a new id.
pub(super) async fn get(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let id = one(session, words.get(1).unwrap_or_default()).await?;
    session.out.digits(id);
    Ok(())
}

/// `MGET namespace namespace ...`: the digits of a new id for each.
pub(super) async fn mget(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    // Memory before ids: an id that cannot be answered is lost.
    session.hold(words.len() * ID_REPLY).await?;
    // Before anything is answered: a reply has either all or none.
    let mut ids = Vec::with_capacity(words.len());
    for name in words.from(1) {
        ids.push(one(session, name).await?);
    }
    session.out.array(ids.len());
    for id in ids {
        session.out.digits(id);
    }
    Ok(())
}

async fn one(session: &mut RespSession, name: &[u8]) -> Result<Id, Refusal> {
    if let Some(id) = session.quick_id(name)? {
        return Ok(id);
    }
    session.slow_id().await
}

/// `ID.NEXT namespace [COUNT n] [FORMAT text|int|raw]`: a new id, or an array of them, or in the format `raw` one string of
/// eight bytes for each.
pub(super) async fn next(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let (mut count, mut format) = (None, IdsFormat::Text);
    let mut options = words.from(2);
    while let Some(option) = options.next() {
        let value = options.next();
        if option.eq_ignore_ascii_case(b"COUNT") {
            count = Some(read_count(value)?);
        } else if option.eq_ignore_ascii_case(b"FORMAT") {
            format = read_format(value)?;
        } else {
            return Err(Refusal::invalid(
                "syntax error: ID.NEXT namespace [COUNT n] [FORMAT text|int|raw] is allowed",
            ));
        }
    }
    session.hold(count.unwrap_or(1) * ID_REPLY).await?;
    let mut ids = vec![Id::from_u64(0); count.unwrap_or(1)];
    let principal = session.principal()?;
    let service = session.service.clone();
    let filled = service.ids(&principal, words.text(1)?, &mut ids, session.patience());
    let filled = filled.await;
    session.waited(filled)?;
    if let IdsFormat::Raw = format {
        session.out.raw_ids(&ids);
        return Ok(());
    }
    if count.is_some() {
        session.out.array(ids.len());
    }
    for id in ids {
        match format {
            IdsFormat::Int => session.out.int_id(id),
            _ => session.out.text_id(id),
        }
    }
    Ok(())
}

fn read_count(value: Option<&[u8]>) -> Result<usize, Refusal> {
    let text = value.and_then(|value| str::from_utf8(value).ok());
    let count = text
        .and_then(digits)
        .and_then(|count| count.try_into().ok());
    let count = count.ok_or_else(|| Refusal::invalid("COUNT takes a number, in digits only"))?;
    check_count(count)?;
    Ok(count)
}

fn read_format(value: Option<&[u8]>) -> Result<IdsFormat, Refusal> {
    let name = value.unwrap_or_default().to_ascii_lowercase();
    let format = str::from_utf8(&name).ok().and_then(IdsFormat::named);
    // JSON is for HTTP; here several ids are an array of the protocol.
    let format = format.filter(|format| *format != IdsFormat::Json);
    format.ok_or_else(|| Refusal::invalid("FORMAT takes text, int or raw"))
}

/// `ID.INSPECT namespace id [FORMAT text|int]`: the fields of an id, as a JSON object.
pub(super) fn inspect(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let format = match (words.get(3), words.len()) {
        (None, _) => IdsFormat::Text,
        (Some(option), 5) if option.eq_ignore_ascii_case(b"FORMAT") => read_format(words.get(4))?,
        _ => {
            return Err(Refusal::invalid(
                "syntax error: ID.INSPECT namespace id [FORMAT text|int] is allowed",
            ));
        }
    };
    let text = words.text(2)?;
    let form = match format {
        IdsFormat::Text => TextForm::Text,
        IdsFormat::Int => TextForm::Int,
        _ => return Err(Refusal::invalid("FORMAT takes text or int")),
    };
    let id = read_id(form, text)?;
    let principal = session.principal()?;
    let inspected = session.service.inspect(&principal, words.text(1)?, id)?;
    session.out.json(&inspected)
}
