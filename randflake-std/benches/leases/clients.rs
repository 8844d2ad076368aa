//! Several clients at once, each with a connection of its own.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use randflake_std::lease::Grant;

use super::engine::{Space, TTL};
use super::leases::{acquire, release};

const CLIENTS: u32 = 16;
/// Clients that renew many node ids, and how many of them at once.
const FEW: usize = 4;
const AT_ONCE: usize = 4_096;

/// Renewals in a second, over some time, each of one node id; a client has several, so that no end
/// is moved twice in a tick.
pub(crate) fn renewals(space: &Space<'_>, span: Duration) -> f64 {
    at_once(|| {
        let mut store = space.open();
        let grants = acquire(&mut store, CLIENTS, TTL);
        let mut turns = grants.chunks(1).cycle();
        let rate = rate(span, || {
            let renewed = store.renew(turns.next().unwrap(), TTL).unwrap();
            assert!(renewed.ends[0].is_ok());
        });
        release(&mut store, &grants);
        rate
    })
}

/// Acquires in a second, over some time, each of one node id.
pub(crate) fn acquires(space: &Space<'_>, span: Duration) -> f64 {
    at_once(|| {
        let mut store = space.open();
        let mut grants: Vec<Grant> = Vec::new();
        let rate = rate(span, || grants.extend(acquire(&mut store, 1, TTL)));
        release(&mut store, &grants);
        rate
    })
}

/// Renews many, as keepers do, and says whether all were still held.
pub(crate) fn renew_all(space: &Space<'_>, grants: &[Grant]) -> bool {
    let renew = |grants: &[Grant]| {
        let mut store = space.open();
        grants.chunks(AT_ONCE).all(|grants| {
            let renewed = store.renew(grants, TTL).unwrap();
            renewed.ends.iter().all(Result::is_ok)
        })
    };
    thread::scope(|scope| {
        let renew = &renew;
        let clients: Vec<_> = grants
            .chunks(grants.len().div_ceil(FEW))
            .map(|grants| scope.spawn(move || renew(grants)))
            .collect();
        // Each is waited for.
        let held = clients.into_iter().map(|client| client.join().unwrap());
        held.fold(true, |all, held| all & held)
    })
}

fn at_once(client: impl Fn() -> f64 + Sync) -> f64 {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(&client)).collect();
        let rates = clients.into_iter().map(|client| client.join().unwrap());
        rates.sum()
    })
}

fn rate(span: Duration, mut work: impl FnMut()) -> f64 {
    let (begin, mut count) = (Instant::now(), 0_u32);
    while begin.elapsed() < span {
        work();
        count += 1;
    }
    f64::from(count) / begin.elapsed().as_secs_f64()
}
