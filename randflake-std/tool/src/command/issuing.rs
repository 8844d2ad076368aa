//! What commands that issue have in common.

use core::time::Duration;

use randflake_std::DEFAULT_TTL;
use randflake_std::date::span;
use randflake_std::lease::{Namespace, StoreError};

use crate::failure::{Failure, say};

/// Longest wait for an id before it is a failure: a used up second passes sooner, and a lost lease is replaced sooner.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// How long a lease lasts, as asked for or by default; refused if that is longer than the namespace allows.
///
/// The builder refuses it as well, but only after a secret was made, and it does not know the option that allows it.
pub(crate) fn ttl(asked: Option<Duration>, namespace: &Namespace) -> Result<Duration, Failure> {
    // A handle renews after a third of the TTL, which must be a tick at least.
    let shortest = Duration::from_millis(namespace.spec().tick_ms().saturating_mul(3));
    let ttl = asked.unwrap_or(DEFAULT_TTL.max(shortest));
    let most = namespace.max_ttl();
    if ttl > most {
        let (ttl, most) = (span(ttl), span(most));
        return Err(Failure::usage(format!(
            "a TTL of {ttl} is too long: at most {most} is allowed, the longest of the namespace (see --max-ttl)"
        )));
    }
    Ok(ttl)
}

/// Says of leases that were not released that they end by themselves: what was issued is good all the same.
pub(crate) fn say_unless_released(closed: Result<(), StoreError>) {
    if let Err(error) = closed {
        say(&format!(
            "warning: the leases were not released and end by themselves: {error}"
        ));
    }
}
