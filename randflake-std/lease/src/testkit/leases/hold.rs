//! Renewing and releasing what was granted, to this process or a client elsewhere.

use super::{
    Backend, TTL, acquire, acquire_one, eight, patiently, record_of, renew_after_a_leap, tick_at,
    ticks,
};
use crate::store::LeaseStore;
use crate::testkit::referee::Referee;
use crate::types::{ClientGrant, ClientRenewal, Grant, Loss, RequestId, StoreError};

pub fn a_renewal_moves_the_end(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut grants = acquire(&mut store, 1, 3).unwrap().grants;
    backend.pass(ticks(20));
    grants.reverse();
    let renewed = store.renew(&grants, TTL).unwrap();
    let end = tick_at(renewed.now) + TTL;
    assert_eq!(renewed.ends, [Ok(end); 3]);
    assert!(end >= grants[0].end + 20);
    assert_eq!(record_of(&mut store, grants[0].node_id).grant.end, end);

    // Repeated with what the holder knew before: no harm.
    assert!(
        store
            .renew(&grants, TTL)
            .unwrap()
            .ends
            .iter()
            .all(Result::is_ok)
    );
    // Beyond the first end it lives on.
    backend.pass(ticks(TTL - 10));
    assert!(
        store
            .renew(&grants, TTL)
            .unwrap()
            .ends
            .iter()
            .all(Result::is_ok)
    );
}

pub fn a_renewal_never_shortens(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    assert_eq!(store.renew(&[grant], 1).unwrap().ends, [Ok(grant.end)]);
    backend.step_clock(0, -10_000);
    let renewed = renew_after_a_leap(&mut store, &[grant]);
    assert_eq!(renewed.ends, [Ok(grant.end)]);
}

pub fn a_lease_that_is_over_cannot_be_renewed(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grants = acquire(&mut store, 1, 2).unwrap().grants;
    backend.pass(ticks(TTL - 5));
    let ends = store.renew(&grants[..1], TTL).unwrap().ends;
    backend.pass(ticks(5));
    // Nobody has taken the second one, and yet it is over.
    let both = store.renew(&grants, 1).unwrap().ends;
    assert_eq!(both, [ends[0], Err(Loss::Expired)]);
    let next = acquire_one(&mut store, 2);
    assert!(next.start >= grants[1].end);
}

pub fn a_release_frees_the_rest(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grants = acquire(&mut store, 1, 8).unwrap().grants;
    backend.pass(ticks(5));
    let cut = |grant: Grant, after| Grant {
        end: grant.start + after,
        ..grant
    };
    // Used until now; unused; used up to a tick that is still to come.
    let released = [cut(grants[0], 5), cut(grants[1], 0), cut(grants[2], 20)];
    store.release(&released).unwrap();
    for grant in &released {
        assert_eq!(record_of(&mut store, grant.node_id).grant.end, grant.end);
    }
    assert_eq!(
        store.renew(&released, TTL).unwrap().ends,
        [Err(Loss::Released); 3]
    );

    let next = acquire(&mut store, 2, 2).unwrap();
    for grant in &next.grants {
        assert!(grant.node_id == grants[0].node_id || grant.node_id == grants[1].node_id);
        assert_eq!(grant.start, tick_at(next.now));
    }
    // The third is not free before its last tick is over.
    assert!(acquire(&mut store, 3, 1).is_err());
    backend.pass(ticks(15));
    let grant = acquire_one(&mut store, 3);
    assert_eq!(grant.node_id, grants[2].node_id);
    assert!(grant.start >= released[2].end);

    // Released a second time, when others have it: no effect.
    store.release(&released).unwrap();
    assert_eq!(record_of(&mut store, grant.node_id).grant, grant);
}

pub fn a_release_counts_once(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    let used = Grant {
        end: grant.start + 20,
        ..grant
    };
    store.release(&[used]).unwrap();
    for end in [grant.start, grant.start + 30] {
        store.release(&[Grant { end, ..grant }]).unwrap();
        assert_eq!(record_of(&mut store, grant.node_id).grant, used);
    }
}

pub fn what_was_not_used_is_granted_in_the_same_tick(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    for number in 1..10 {
        let mut grants = acquire(&mut store, number, 8).unwrap().grants;
        referee.granted(&grants);
        for grant in &mut grants {
            grant.end = grant.start;
            referee.released(grant);
        }
        store.release(&grants).unwrap();
    }
}

pub fn a_release_never_lengthens(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grants = acquire(&mut store, 1, 3).unwrap().grants;
    let [late, early, max] = grants[..] else {
        panic!("three were asked for")
    };
    let released = [
        Grant {
            end: late.end + 5,
            ..late
        },
        Grant {
            end: early.start - 5,
            ..early
        },
        Grant {
            end: u64::MAX,
            ..max
        },
    ];
    store.release(&released).unwrap();
    assert_eq!(record_of(&mut store, late.node_id).grant.end, late.end);
    assert_eq!(record_of(&mut store, early.node_id).grant.end, early.start);
    assert_eq!(record_of(&mut store, max.node_id).grant.end, max.end);
}

pub fn only_the_holder_of_a_grant_can_change_it(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let stale = acquire_one(&mut store, 1);
    backend.pass(ticks(TTL));
    let others = acquire(&mut store, 2, 8).unwrap().grants;
    let grant = others.iter().find(|other| other.node_id == stale.node_id);
    let grant = *grant.unwrap();
    let forged = [
        stale,
        Grant {
            token: stale.token,
            ..grant
        },
        Grant {
            fencing_token: grant.fencing_token + 1,
            ..grant
        },
        Grant {
            fencing_token: u64::MAX,
            ..grant
        },
        Grant {
            node_id: 8,
            ..grant
        },
        Grant {
            node_id: u32::MAX,
            ..grant
        },
    ]
    .map(|forged| Grant {
        end: grant.start,
        ..forged
    });
    let renewed = store.renew(&forged, TTL).unwrap().ends;
    assert!(renewed.iter().all(Result::is_err), "{renewed:?}");
    store.release(&forged).unwrap();
    assert_eq!(record_of(&mut store, grant.node_id).grant, grant);
    assert_eq!(store.list().unwrap().len(), 8);
    assert_eq!(store.renew(&[], TTL).unwrap().ends, []);
    store.release(&[]).unwrap();
}

pub fn what_was_answered_is_kept(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let first = acquire(&mut store, 1, 3).unwrap().grants;
    backend.pass(ticks(10));
    store.renew(&first[..1], TTL).unwrap();
    let released = Grant {
        end: first[1].start + 1,
        ..first[1]
    };
    store.release(&[released]).unwrap();
    let records = store.list().unwrap();
    drop(store);

    let mut store = backend.open(&eight("orders")).unwrap();
    assert_eq!(store.list().unwrap(), records);
    let renewed = store.renew(&first, TTL).unwrap().ends;
    assert!(
        matches!(renewed[..], [Ok(_), Err(Loss::Released), Ok(_)]),
        "{renewed:?}"
    );
    acquire_one(&mut store, 2);
}

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
    let renewed = renew(&mut store, &granted, "always-the-same").outcomes[0].unwrap();
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
