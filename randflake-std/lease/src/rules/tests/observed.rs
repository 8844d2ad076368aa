//! Observations of a process: the namespace and its leases.

use super::*;
use crate::rules::NodeChange;

fn seen(record: NamespaceRecord) -> Observed {
    World::new(&[]).has_seen(record, NOW).seen
}

#[test]
fn a_record_is_compared_with_the_one_that_was_seen() {
    let record = |namespace_nonce, writes, quarantine| NamespaceRecord {
        namespace_nonce,
        writes,
        quarantine,
        ..namespace()
    };
    let observed = seen(record(7, 3, 0));
    for (now, is_missed, is_contradicted, has_changed) in [
        (None, true, true, true),
        (Some(record(7, 3, 0)), false, false, false),
        (Some(record(7, 4, 0)), false, false, false),
        (Some(record(7, 4, 1)), false, false, true),
        (Some(record(7, 2, 0)), false, true, true),
        (Some(record(8, 3, 0)), true, true, true),
        (Some(record(8, 4, 0)), true, true, true),
    ] {
        let now = now.as_ref();
        assert_eq!(observed.misses(now), is_missed, "{now:?}");
        assert_eq!(observed.contradicts(now), is_contradicted, "{now:?}");
        assert_eq!(observed.has_changed(now), has_changed, "{now:?}");
        let nothing = Observed::default();
        assert!(!nothing.misses(now) && !nothing.contradicts(now) && !nothing.has_changed(now));
    }
    assert_eq!(observed.namespace_nonce(), Some(7));
    assert!(observed.former_of(&record(7, 4, 0)).is_none());
    let (former, at) = observed.former_of(&record(8, 1, 0)).unwrap();
    assert_eq!((former.namespace_nonce, *at), (7, unix(NOW)));
}

#[test]
fn ends_of_own_leases_are_remembered() {
    let world = World::new(&[]);
    assert_eq!(
        (
            world.seen.end_of(5),
            world.seen.latest_end(),
            world.seen.has_leased()
        ),
        (0, 0, false)
    );
    let seen = world.has_leased(5, NOW + 9).has_leased(6, NOW + 7).seen;
    assert_eq!(
        [5, 6, 7].map(|node_id| seen.end_of(node_id)),
        [NOW + 9, NOW + 7, 0]
    );
    assert_eq!(seen.latest_end(), NOW + 9);
    assert!(seen.has_leased());
}

#[test]
fn leases_of_others_are_not_remembered() {
    let mut world = World::new(&[]);
    assert!(!world.seen.is_proxy());
    world.seen.act_as_proxy();
    assert!(world.seen.is_proxy());
    let seen = world.has_leased(5, NOW + 9).seen;
    assert!(seen.has_leased());
    assert_eq!((seen.end_of(5), seen.latest_end()), (0, 0));
}

#[test]
fn lease_is_known_by_its_last_and_tried_writes() {
    let record = lease(5, NOW, NOW + 60);
    let grant = record.grant();
    let mut seen = Observed::default();
    let known = |seen: &Observed, grant| {
        let held = seen.current_lease(&grant);
        assert_eq!((held.grant, held.next), (grant, None));
        let node = seen
            .node_of(&grant)
            .map(|node| (node.node_id, node.record.unwrap()));
        (held.written, held.tried, node)
    };
    let nothing = (None, vec![], None);
    assert_eq!(known(&seen, grant), nothing);
    seen.note(&record);
    let node = Some((5, record.clone()));
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![], node.clone()));
    let mut other = grant;
    other.fencing_token += 1;
    assert_eq!(known(&seen, other), nothing);

    let tried = [5, 6].map(|node_id| NodeChange {
        before: None,
        after: lease(node_id, NOW, NOW + 60),
    });
    seen.note_tried(&tried, 60);
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![60], None));
    assert_eq!(known(&seen, tried[1].after.grant()), nothing);
    // Settled by a write that was answered.
    seen.note(&record);
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![], node));
}

/// Any server may renew it, in turns.
#[test]
fn device_lease_is_not_known_by_its_last_write() {
    let record = NodeRecord {
        holder: "device/7".to_owned(),
        ..lease(5, NOW, NOW + 60)
    };
    let mut seen = Observed::default();
    seen.note(&record);
    assert_eq!(seen.current_lease(&record.grant()).written, None);
}

/// As a renewal without a read expects it.
#[test]
fn a_view_of_what_was_written_last_is_no_loss() {
    let mut record = namespace();
    "run:42".clone_into(&mut record.fingerprint);
    let record_of_node = lease(5, NOW, NOW + 60);
    let nodes = vec![
        Node {
            node_id: 6,
            record: None,
        },
        Node {
            node_id: 5,
            record: Some(record_of_node.clone()),
        },
    ];
    let view = View::carried(unix(NOW), record, nodes);
    assert_eq!(view.record(5), Some(&record_of_node));
    assert_eq!((view.record(6), view.record(7)), (None, None));
    assert!(!view.is_dropped());
    let world = World {
        view,
        ..World::new(&[])
    };
    let state = crate::rules::NamespaceState::of(&world.view, &world.caller()).unwrap();
    assert!(state.into_change().is_empty());
}
