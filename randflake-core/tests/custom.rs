//! A layout made at run time issues what its twin, declared as a type, does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU64;
use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::internal::first_ready_within;
use randflake_core::{
    AnyLayout, Codec, ExtendError, Generator, Id, Layout, LayoutFields, LayoutSpec, Lease,
    LeaseError, ManualClock, Permutation, Plain, Randflake, Sequencer, Snowflake, Sonyflake,
    Sparx64,
};

const KEY: [u8; 16] = [7; 16];

/// Generates, fills, extends and inspects, and shows all that came of it.
fn history<L: AnyLayout>(layout: L, permutation: impl Permutation) -> Vec<String> {
    let spec = layout.spec();
    let clock = ManualClock::at_unix_ms(spec.unix_ms(1_000));
    let lease = |end| Lease::new(layout, 5, 1_000, end).unwrap();
    let ids = Generator::<L, AtomicU64, _, _>::new(lease(1_002), &clock, permutation).unwrap();
    let mut told = Vec::new();
    let mut buffer = [Id::from_u64(0); 300];
    for step in 0..8_u64 {
        told.push(format!("{:?} {:?}", ids.generate(), ids.fill(&mut buffer)));
        told.push(format!("{:?}", buffer.map(|id| (id, ids.inspect(id)))));
        clock.advance_ms(spec.tick_ms() / 2 + step);
        told.push(format!("{:?}", ids.extend(lease(1_002 + step))));
    }
    told.push(format!("{:?}", ids.seal()));
    told
}

fn check_twins<L: Layout>(permutation: L::Permutation, chosen: Option<Sparx64>) {
    let told = history(L::SPEC, chosen);
    assert_eq!(told, history(L::default(), permutation));
}

#[test]
fn a_custom_layout_issues_the_ids_of_its_twin() {
    check_twins::<Snowflake>(Plain, None);
    check_twins::<Sonyflake>(Plain, None);
    let cipher = || Sparx64::new(&KEY);
    check_twins::<Randflake>(cipher(), Some(cipher()));
}

#[test]
fn a_pool_of_a_custom_layout_goes_on_with_the_next_node_id() {
    let layout = Sonyflake::SPEC;
    let clock = ManualClock::at_unix_ms(layout.spec().unix_ms(0));
    let sequencer = |node_id| {
        Sequencer::<_, AtomicU64>::new(Lease::new(layout, node_id, 0, 10).unwrap()).unwrap()
    };
    let codec = Codec::new(layout, Plain);
    let (members, cursor) = ([sequencer(1), sequencer(2)], AtomicU64::new(0));
    let generate = || {
        first_ready_within(&members, &cursor, 0, |member, ticks| {
            member.take(&clock, ticks)
        })
    };
    let nodes: Vec<_> = (0..512)
        .map(|_| codec.inspect(codec.id(generate().unwrap())).node_id)
        .collect();
    let of = |wanted| nodes.iter().filter(|&&node| node == wanted).count();
    assert_eq!((of(1), of(2)), (256, 256));
    assert!(generate().is_err());
}

#[test]
fn a_lease_is_one_of_its_layout_alone() {
    let layout = Sonyflake::SPEC;
    assert_eq!(
        Lease::new(layout, 65_536, 0, 1),
        Err(LeaseError::NodeId {
            value: 65_536,
            max: 65_535
        })
    );
    let clock = ManualClock::at_unix_ms(layout.spec().unix_ms(0));
    let sequencer = Sequencer::<_, AtomicU64>::new(Lease::new(layout, 1, 0, 10).unwrap()).unwrap();
    let other = Snowflake::SPEC;
    let extension = Lease::new(other, 1, 0, 20).unwrap();
    assert_eq!(
        sequencer.extend(extension, &clock),
        Err(ExtendError::Foreign)
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the widths and the tick: no id twice, and each says its fields.
    #[test]
    fn any_widths_issue(
        timestamp in 8..=40_u32,
        node_bits in 0..=12_u32,
        sequence_bits in 0..=12_u32,
        tick_ms in 1..=5_000_u64,
        node_id: u32,
        steps in prop::collection::vec((0..3_u64, 1..20_usize), 1..10),
    ) {
        let layout = LayoutSpec::new(LayoutFields::in_order([timestamp, node_bits, sequence_bits], 77, tick_ms)).unwrap();
        let spec = layout.spec();
        let node_id = node_id & spec.max_node_id();
        let clock = ManualClock::at_unix_ms(spec.unix_ms(10));
        let lease = Lease::new(layout, node_id, 10, 100).unwrap();
        let ids = Generator::<_, AtomicU64, _>::new(lease, &clock, Plain).unwrap();
        let mut issued = HashSet::new();
        let mut now = 10;
        for (ticks, count) in steps {
            now += ticks;
            clock.advance_ms(ticks * tick_ms);
            for _ in 0..count {
                let Ok(id) = ids.generate() else { break };
                prop_assert!(issued.insert(id));
                let parts = ids.inspect(id);
                prop_assert_eq!((parts.tick, parts.node_id), (now, node_id));
                prop_assert_eq!(ids.codec().compose(parts), Ok(id));
            }
            let full = u64::from(spec.max_sequence()) + 1;
            prop_assert!(issued.len() as u64 <= (now - 9) * full);
        }
        prop_assert!(!issued.is_empty());
    }
}
