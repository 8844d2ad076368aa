//! Which leases there are: within the layout, never empty, and as a device keeps them.

use randflake_core::{Lease, LeaseError, Randflake, Randflake53};

/// The first tick that the layout does not have.
const MAX_END: u64 = 1 << 30;

#[test]
fn a_lease_has_a_tick_and_none_that_the_layout_does_not_have() {
    let lease = |start, end| Lease::new(Randflake, 1, start, end);
    let empty = |start, end| Err(LeaseError::Empty { start, end });
    assert_eq!(lease(5, 5), empty(5, 5));
    assert_eq!(lease(6, 5), empty(6, 5));
    assert_eq!(lease(0, 0), empty(0, 0));
    assert_eq!(lease(5, 6).map(|lease| lease.ticks()), Ok(1));
    let last = lease(MAX_END - 1, MAX_END);
    assert_eq!(last.map(|lease| lease.end()), Ok(MAX_END));
    for end in [MAX_END + 1, u64::MAX] {
        let beyond = LeaseError::BeyondLayout { end, max: MAX_END };
        assert_eq!(lease(0, end), Err(beyond));
    }
}

#[test]
fn a_lease_has_a_node_id_of_the_layout() {
    let max = 131_071;
    let lease = |node_id| Lease::new(Randflake, node_id, 5, 6);
    assert_eq!(lease(max).map(|lease| lease.node_id()), Ok(max));
    let value = max + 1;
    assert_eq!(lease(value), Err(LeaseError::NodeId { value, max }));
}

#[test]
fn only_memory_that_nobody_wrote_is_not_provisioned() {
    let grant = |words| Lease::from_words(Randflake, words);
    assert_eq!(grant([0; 4]), Err(LeaseError::NotProvisioned));
    assert_eq!(grant([u32::MAX; 4]), Err(LeaseError::NotProvisioned));
    // One bit was written.
    for (word, bit) in (0..4).flat_map(|word| (0..32).map(move |bit| (word, bit))) {
        for blank in [0, u32::MAX] {
            let mut words = [blank; 4];
            words[word] ^= 1 << bit;
            assert_ne!(grant(words), Err(LeaseError::NotProvisioned), "{words:x?}");
        }
    }
}

#[test]
fn a_grant_is_of_the_version_that_it_names() {
    let grant = |words| Lease::from_words(Randflake, words);
    for found in [0, 2, u32::MAX] {
        let other = Err(LeaseError::GrantVersion { found });
        assert_eq!(grant([42, 1_000, 1_060, found]), other);
    }
    let expected = Lease::new(Randflake, 42, 1_000, 1_060);
    assert_eq!(grant([42, 1_000, 1_060, 1]), expected);
    // One of 53-bit ids is not taken for one of 64, nor the other way round.
    let grant53 = |words| Lease::from_words(Randflake53, words);
    let expected = Lease::new(Randflake53, 42, 1_000, 1_060);
    assert_eq!(grant53([42, 1_000, 1_060, 2]), expected);
    let other = Err(LeaseError::GrantVersion { found: 1 });
    assert_eq!(grant53([42, 1_000, 1_060, 1]), other);
    let first = Lease::new(Randflake, 0, 0, 60);
    assert_eq!(grant([0, 0, 60, 1]), first);
    let (start, end) = (1_060, 1_000);
    let empty = Err(LeaseError::Empty { start, end });
    assert_eq!(grant([42, 1_060, 1_000, 1]), empty);
}
