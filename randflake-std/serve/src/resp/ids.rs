//! Ids: `INCR`, `GET` and `MGET` for clients that know Redis only, `ID.NEXT` and `ID.INSPECT` for
//! the others; and the numbers of `NUMBER.NEXT`.

use randflake_common::form::TextFormat;
use randflake_std::Id;

use super::reply::Replies;
use super::session::{Answered, Answering, CHUNK, CommandArgs, RespSession, later};
use crate::refusal::Refusal;
use crate::service::leases::IssuedNumbers;
use crate::service::{IdsFormat, check_count, digits, read_id};

/// Memory of an id and its longest reply, in bytes.
const ID_REPLY: usize = 40;

/// `INCR namespace`: a number, as Redis answers it. JavaScript rounds one of 64 bits: use `GET`, or
/// `ID.NEXT`, or ids of 53 bits.
pub(super) fn incr<'a>(session: &'a mut RespSession, words: CommandArgs<'a>) -> Answering<'a> {
    one(session, words, Replies::int_id)
}

/// `INCRBY namespace 1`, which some clients send for `INCR`.
pub(super) fn incr_by<'a>(session: &'a mut RespSession, words: CommandArgs<'a>) -> Answering<'a> {
    // A client that adds 10 expects the nine before to be its own, too.
    if words.get(2) != Some(b"1") {
        return Answering::Now(Err(Refusal::invalid(
            "ids do not follow each other: INCRBY takes 1 only; for more ids use ID.NEXT namespace COUNT n",
        )));
    }
    incr(session, words)
}

/// `GET namespace`: the digits of a new id.
pub(super) fn get<'a>(session: &'a mut RespSession, words: CommandArgs<'a>) -> Answering<'a> {
    one(session, words, Replies::digits)
}

/// An id of the namespace that the first word names: at once, unless there is none.
fn one<'a>(
    session: &'a mut RespSession,
    words: CommandArgs<'a>,
    write: fn(&mut Replies, Id),
) -> Answering<'a> {
    match session.quick_id(words.get(1).unwrap_or_default()) {
        Ok(Some(id)) => {
            write(&mut session.out, id);
            Answering::Now(Ok(()))
        }
        Ok(None) => later(async move {
            let id = session.slow_id().await?;
            write(&mut session.out, id);
            Ok(())
        }),
        Err(refusal) => Answering::Now(Err(refusal)),
    }
}

/// `MGET namespace namespace ...`: the digits of a new id for each.
pub(super) async fn mget(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    // Memory before ids: an id that cannot be answered is lost.
    session.hold(words.len() * ID_REPLY).await?;
    // Before anything is answered: a reply has either all or none.
    let mut ids = Vec::with_capacity(words.len());
    for name in words.from(1) {
        ids.push(match session.quick_id(name)? {
            Some(id) => id,
            None => session.slow_id().await?,
        });
    }
    session.out.array(ids.len());
    for id in ids {
        session.out.digits(id);
    }
    Ok(())
}

/// `ID.NEXT namespace [COUNT n] [FORMAT text|int|raw]`: a new id, or an array of them, or in the
/// format `raw` one string of eight bytes for each.
pub(super) fn next<'a>(session: &'a mut RespSession, words: CommandArgs<'a>) -> Answering<'a> {
    match next_options(words) {
        Ok((Some(count), format)) => later(next_of(session, words, count, format)),
        Ok((None, IdsFormat::Raw)) => one(session, words, |out, id| {
            out.raw_ids(1);
            out.raw_id(id);
            out.end();
        }),
        Ok((None, IdsFormat::Int)) => one(session, words, Replies::int_id),
        Ok((None, _)) => one(session, words, Replies::text_id),
        Err(refusal) => Answering::Now(Err(refusal)),
    }
}

fn next_options(words: CommandArgs<'_>) -> Result<(Option<usize>, IdsFormat), Refusal> {
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
    Ok((count, format))
}

async fn next_of(
    session: &mut RespSession,
    words: CommandArgs<'_>,
    count: usize,
    format: IdsFormat,
) -> Answered {
    // The ids themselves, and what is written of them at once.
    let written = count * (ID_REPLY - size_of::<Id>());
    let held = count * size_of::<Id>() + written.min(2 * CHUNK);
    session.hold(held).await?;
    let mut ids = vec![Id::from_u64(0); count];
    let principal = session.principal()?;
    let service = session.service.clone();
    let filled = service
        .ids(&principal, words.text(1)?, &mut ids, session.patience())
        .await;
    session.waited(filled)?;
    match format {
        IdsFormat::Raw => session.out.raw_ids(ids.len()),
        _ => session.out.array(ids.len()),
    }
    // The connection writes and sends them, a chunk after the other.
    session.ids = Some((ids.into_iter(), format));
    Ok(())
}

fn read_count(value: Option<&[u8]>) -> Result<usize, Refusal> {
    let text = value.and_then(|value| str::from_utf8(value).ok());
    let count = text
        .and_then(digits)
        .and_then(|count| count.try_into().ok())
        .ok_or_else(|| Refusal::invalid("COUNT takes a number, in digits only"))?;
    check_count(count)?;
    Ok(count)
}

fn read_format(value: Option<&[u8]>) -> Result<IdsFormat, Refusal> {
    let name = value.unwrap_or_default().to_ascii_lowercase();
    match str::from_utf8(&name).ok().and_then(IdsFormat::named) {
        // JSON is for HTTP; here several ids are an array of the protocol.
        None | Some(IdsFormat::Json) => Err(Refusal::invalid("FORMAT takes text, int or raw")),
        Some(format) => Ok(format),
    }
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
        IdsFormat::Text => TextFormat::Text,
        IdsFormat::Int => TextFormat::Int,
        _ => return Err(Refusal::invalid("FORMAT takes text or int")),
    };
    let id = read_id(form, text)?;
    let principal = session.principal()?;
    let inspected = session.service.inspect(&principal, words.text(1)?, id)?;
    session.out.json(&inspected)
}

/// `NUMBER.NEXT namespace [COUNT n] [FORMAT text|int]`: the next number of the namespace's counter,
/// or an array of them.
pub(super) async fn next_number(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let (mut count, mut is_int) = (None, false);
    let mut options = words.from(2);
    while let Some(option) = options.next() {
        let value = options.next().unwrap_or_default();
        if option.eq_ignore_ascii_case(b"COUNT") {
            let number = str::from_utf8(value)
                .ok()
                .and_then(digits)
                .and_then(|number| usize::try_from(number).ok())
                .ok_or_else(|| Refusal::invalid("COUNT takes a number, in digits only"))?;
            count = Some(number);
        } else if option.eq_ignore_ascii_case(b"FORMAT") {
            is_int = value.eq_ignore_ascii_case(b"int");
            if !is_int && !value.eq_ignore_ascii_case(b"text") {
                return Err(Refusal::invalid("FORMAT takes text or int"));
            }
        } else {
            return Err(Refusal::invalid(
                "syntax error: NUMBER.NEXT namespace [COUNT n] [FORMAT text|int] is allowed",
            ));
        }
    }
    let principal = session.principal()?;
    let service = session.service.clone();
    let issued = service.numbers(&principal, words.text(1)?, count.unwrap_or(1));
    let IssuedNumbers { segment, terms } = issued.await?;
    if count.is_some() {
        session
            .out
            .array(usize::try_from(segment.len()).unwrap_or_default());
    }
    for number in segment.numbers() {
        if is_int {
            session.out.number(number);
        } else {
            session.out.bulk(terms.text(number).as_bytes());
        }
    }
    Ok(())
}
