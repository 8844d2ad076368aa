//! `NUMBER.NEXT`: the next numbers of a counter.

use super::session::{Answered, CommandArgs, RespSession};
use crate::service::digits;
use crate::service::numbers::IssuedNumbers;
use crate::service::refusal::Refusal;

/// `NUMBER.NEXT namespace [COUNT n] [FORMAT text|int]`: the next number of the namespace's counter, or an array of them.
pub(super) async fn next(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let (mut count, mut is_int) = (None, false);
    let mut options = words.from(2);
    while let Some(option) = options.next() {
        let value = options.next().unwrap_or_default();
        if option.eq_ignore_ascii_case(b"COUNT") {
            let number = str::from_utf8(value).ok().and_then(digits);
            let number = number.and_then(|number| usize::try_from(number).ok());
            count = Some(
                number.ok_or_else(|| Refusal::invalid("COUNT takes a number, in digits only"))?,
            );
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
