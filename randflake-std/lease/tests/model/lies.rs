//! Rules that are left out. No rule is written a second time: it is lied to about
//! what was read, or what it says is changed.

use randflake_lease::unstable::rules::{Change, Loss, Terms, View};
use randflake_lease::{MAX_SKEW, StoreError};

use crate::holder::Process;
use crate::operation::{Answer, Asked};
use crate::rules::{Flaw, Rules};

/// What the rules are told of the store.
pub(crate) fn before(view: &mut View, asked: Asked, process: &Process, mine: &Terms, rules: Rules) {
    let records = view
        .nodes
        .iter_mut()
        .filter_map(|node| node.record.as_mut());
    match rules.flaw {
        Some(Flaw::FirstIsFreeForAll) if asked == Asked::Acquire => {
            let now = mine.spec.tick_at(view.now).unwrap_or(0);
            let others = view.nodes.iter_mut().skip(1);
            let records = others.filter_map(|node| node.record.as_mut());
            records.for_each(|record| record.end = record.end.min(now));
        }
        Some(Flaw::StartAfterLastStart) if asked == Asked::Acquire => {
            let now = mine.spec.tick_at(view.now).unwrap_or(0);
            let begun = records.filter(|record| record.start <= now);
            begun.for_each(|record| record.end = record.start);
        }
        Some(Flaw::RenewWithoutCompare) if asked == Asked::Renew => {
            for (record, held) in records.zip(process.held()) {
                record.fencing_token = held.grant.fencing_token.into();
                record.token = crate::records::token(held.grant.token);
                record.start = held.grant.start.into();
                let (serial, nonce) = held.written.unwrap_or_default();
                (record.serial, record.nonce) = (serial.into(), nonce.into());
                record.held = true;
            }
        }
        Some(Flaw::GrantsWhenMade) => view.continuity.made_unix_ms = 0,
        Some(Flaw::FlushWithoutQuarantine) => view.continuity.is_absence_certain = true,
        Some(Flaw::PromotionWithoutQuarantine) => {
            if let Some(record) = &view.namespace {
                view.continuity.fingerprint.clone_from(&record.fingerprint);
            }
        }
        Some(Flaw::QuarantineByClockAlone) => view.continuity.known_end_unix_ms = 0,
        Some(Flaw::TermsNotCompared) => {
            if let Some(record) = &mut view.namespace {
                record.terms = *mine;
            }
        }
        _ => {}
    }
}

/// Which writes count as this process' own.
pub(crate) fn tried(mut tried: Vec<u64>, view: &View, rules: Rules) -> Vec<u64> {
    if rules.has(Flaw::ClaimWithoutNonce) {
        let records = view.nodes.iter().filter_map(|node| node.record.as_ref());
        tried.extend(records.map(|record| record.nonce));
    }
    tried
}

/// What the process is told.
pub(crate) fn told(answer: Answer, rules: Rules) -> Answer {
    match answer {
        Answer::Renewed([Some(Ok(first)), Some(_)]) if rules.has(Flaw::RenewedAsOne) => {
            Answer::Renewed([Some(Ok(first)); 2])
        }
        other => other,
    }
}

/// The record that is written.
pub(crate) fn after(
    change: &mut Change,
    view: &View,
    answer: &Result<Answer, StoreError>,
    mine: &Terms,
    rules: Rules,
) {
    match rules.flaw {
        Some(Flaw::VanishedWithoutQuarantine) => {
            let forgotten = Some(Err(Loss::Forgotten));
            if matches!(answer, Ok(Answer::Renewed(ends)) if ends.contains(&forgotten)) {
                change.namespace_after = None;
            }
        }
        Some(Flaw::QuarantineOfTheNewcomer) => {
            let former = change
                .namespace_before
                .as_ref()
                .map_or(0, |record| record.quarantine);
            let now = mine.spec.tick_at(view.now).unwrap_or(0);
            if let Some(record) = &mut change.namespace_after
                && record.quarantine > former
            {
                let over = now + mine.ticks(mine.max_ttl() + 2 * MAX_SKEW);
                record.quarantine = former.max(over);
            }
        }
        _ => {}
    }
}
