//! Grants whose holder is elsewhere: what it presents tells it from a copy, through any server.

use crate::store::LeaseStore;
use crate::types::{ClientGrant, ClientRenewal, Grant, Loss, RequestId, StoreError};

use super::{Backend, TTL, acquire, eight, patiently, record_of, ticks};

fn request(name: &str) -> RequestId {
    name.parse().unwrap()
}

fn renew(store: &mut LeaseStore, grant: &ClientGrant, name: &str) -> ClientRenewal {
    patiently(|| store.renew_for_client(&[*grant], TTL, &request(name))).unwrap()
}

fn release(store: &mut LeaseStore, grant: &ClientGrant, name: &str) -> Result<(), Loss> {
    patiently(|| store.release_for_client(&[*grant], &request(name))).unwrap()[0]
}

/// Two servers of one namespace, and a grant of the first one.
fn granted(backend: &impl Backend) -> ([LeaseStore; 2], ClientGrant) {
    let mut servers = [(); 2].map(|()| {
        let mut store = backend.open(&eight("orders")).unwrap();
        store.act_as_proxy();
        store
    });
    let granted = acquire(&mut servers[0], 1, 1).unwrap().client_grant();
    (servers, granted[0])
}

pub fn a_copied_grant_is_contested(backend: &impl Backend) {
    let ([mut first, mut second], original) = granted(backend);
    let copy = original;
    backend.pass(ticks(20));
    let renewed = renew(&mut first, &original, "original-1");
    let original = renewed.outcomes[0].unwrap();
    // At its first renewal, at each later one, and when it ends the lease.
    for (turn, store) in [&mut first, &mut second].into_iter().enumerate() {
        let refused = renew(store, &copy, &format!("copy-{turn:04}"));
        assert_eq!(refused.outcomes, [Err(Loss::Contested)]);
    }
    let unused = ClientGrant {
        grant: Grant {
            end: copy.grant.start,
            ..copy.grant
        },
        ..copy
    };
    let refused = release(&mut second, &unused, "copy-release");
    assert_eq!(refused, Err(Loss::Contested));
    let record = record_of(&mut first, copy.grant.node_id);
    assert_eq!(record.grant.end, original.grant.end);
    assert!(record.contested);
    // The holder goes on, also through the other server, and ends it.
    let renewed = renew(&mut second, &original, "original-2");
    let original = renewed.outcomes[0].unwrap();
    assert_eq!(release(&mut first, &original, "original-3"), Ok(()));
    let refused = renew(&mut second, &copy, "copy-last");
    assert_eq!(refused.outcomes, [Err(Loss::Released)]);
}

/// A lost answer leaves the holder with what it knew before.
pub fn a_repeated_request_gets_the_same_answer(backend: &impl Backend) {
    let ([mut first, mut second], granted) = granted(backend);
    backend.pass(ticks(10));
    let renewed = renew(&mut first, &granted, "renewal-1");
    backend.pass(ticks(10));
    for store in [&mut first, &mut second] {
        let again = renew(store, &granted, "renewal-1");
        assert_eq!(again.outcomes, renewed.outcomes);
    }
    let renewed = renewed.outcomes[0].unwrap();
    let record = record_of(&mut first, renewed.grant.node_id);
    assert_eq!(record.grant.end, renewed.grant.end);
    assert!(!record.contested);
    let unused = ClientGrant {
        grant: Grant {
            end: granted.grant.start + 15,
            ..renewed.grant
        },
        ..renewed
    };
    for store in [&mut first, &mut second] {
        assert_eq!(release(store, &unused, "release-1"), Ok(()));
    }
    let record = record_of(&mut second, renewed.grant.node_id);
    assert_eq!(record.grant.end, unused.grant.end);
    assert!(!record.contested);
}

/// Copies that name all their renewals alike would be taken for one holder that repeats them.
pub fn a_request_s_name_is_used_once(backend: &impl Backend) {
    let ([mut store, _], granted) = granted(backend);
    let renewed = renew(&mut store, &granted, "always-the-same");
    let renewed = renewed.outcomes[0].unwrap();
    let same = request("always-the-same");
    let refused = store.renew_for_client(&[renewed], TTL, &same).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Invalid(why) if why.contains("needs a new name")),
        "{refused}"
    );
    let refused = store.release_for_client(&[renewed], &same).unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
    assert!(renew(&mut store, &renewed, "another-name").outcomes[0].is_ok());
    for wrong in ["", "short", "with space", &"long".repeat(20)] {
        assert!(wrong.parse::<RequestId>().is_err(), "{wrong}");
    }
}

/// Its holder would issue under ticks that were granted to another one before.
pub fn a_false_start_is_refused(backend: &impl Backend) {
    let (servers, granted) = granted(backend);
    let false_start = ClientGrant {
        grant: Grant {
            start: granted.grant.start - 1,
            ..granted.grant
        },
        ..granted
    };
    for (turn, mut store) in servers.into_iter().enumerate() {
        let request = request(&format!("false-start-{turn}"));
        let refused = patiently(|| store.renew_for_client(&[false_start], TTL, &request));
        let is_told = |why: &str| {
            let starts = format!("starts at tick {}", granted.grant.start);
            why.contains(&starts) && why.contains("nothing was renewed")
        };
        assert!(
            matches!(&refused, Err(StoreError::Invalid(why)) if is_told(why)),
            "{refused:?}"
        );
        let record = record_of(&mut store, granted.grant.node_id);
        assert_eq!(record.grant, granted.grant);
    }
}

/// It would be written twice at once, which no engine can.
pub fn a_lease_that_is_named_twice_is_refused(backend: &impl Backend) {
    let ([mut store, _], granted) = granted(backend);
    let twice = [granted; 2];
    let same = request("named-twice");
    for refused in [
        store.renew_for_client(&twice, TTL, &same).map(drop),
        store.release_for_client(&twice, &same).map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(&refused, StoreError::Invalid(why) if why.contains("is named twice")),
            "{refused}"
        );
    }
    assert!(renew(&mut store, &granted, "named-once").outcomes[0].is_ok());
}
