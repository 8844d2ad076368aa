//! Layouts: fields against a slow twin, and layouts that are made at run time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU64;
use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::internal::first_ready_within;
use randflake_core::{
    AnyLayout, Codec, ExtendError, Field, FieldError, Generator, Id, Layout, LayoutError,
    LayoutFields, LayoutSpec, Lease, LeaseError, ManualClock, Parts, Permutation, Plain, Randflake,
    Sequencer, Snowflake, Sonyflake, Sparx64,
};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

macro_rules! layout {
    ($name:ident: $t:literal << $ts:literal, $n:literal << $ns:literal, $s:literal << $ss:literal) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        struct $name;

        impl Layout for $name {
            type Permutation = Plain;
            const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
                timestamp: Field {
                    bits: $t,
                    shift: $ts,
                },
                node_id: Field {
                    bits: $n,
                    shift: $ns,
                },
                sequence: Field {
                    bits: $s,
                    shift: $ss,
                },
                epoch_unix_ms: 1_234_567_890,
                tick_ms: 7,
            });
        }
    };
}

layout!(NodeOnTop: 30 << 17, 17 << 47, 17 << 0);
layout!(SequenceOnTop: 41 << 0, 10 << 42, 12 << 52);
layout!(WithGaps: 20 << 33, 5 << 59, 7 << 3);
layout!(NodeOnly: 32 << 32, 32 << 0, 0 << 64);
layout!(SequenceOnly: 32 << 0, 0 << 0, 32 << 32);
layout!(LongTime: 60 << 4, 2 << 2, 2 << 0);

/// A field's value, a bit at a time.
fn extract(field: Field, raw: u64) -> u64 {
    (0..field.bits)
        .map(|bit| (raw >> (field.shift + bit) & 1) << bit)
        .sum()
}

fn max(field: Field) -> u64 {
    extract(Field { shift: 0, ..field }, u64::MAX)
}

/// A number around the edges of a field, or any other.
fn around(field: Field) -> impl Strategy<Value = u64> {
    let max = max(field);
    prop_oneof![
        Just(0),
        Just(max),
        Just(max.saturating_add(1)),
        0..=max,
        any::<u64>()
    ]
}

/// Composing is the obvious sum of the parts, or an error that names what is out of range.
fn check_compose<L: Layout<Permutation = Plain>>(parts: Parts) -> Result<(), TestCaseError> {
    let codec = Codec::new(L::default(), Plain);
    let fields = L::SPEC.fields();
    let (max_tick, max_node_id, max_sequence) = (
        max(fields.timestamp),
        max(fields.node_id),
        max(fields.sequence),
    );
    let result = codec.compose(parts);
    if parts.tick > max_tick {
        let (tick, max) = (parts.tick, max_tick);
        prop_assert_eq!(result, Err(FieldError::Timestamp { tick, max }));
    } else if u64::from(parts.node_id) > max_node_id {
        let (value, max) = (parts.node_id, u32::try_from(max_node_id).unwrap());
        prop_assert_eq!(result, Err(FieldError::NodeId { value, max }));
    } else if u64::from(parts.sequence) > max_sequence {
        let (value, max) = (parts.sequence, u32::try_from(max_sequence).unwrap());
        prop_assert_eq!(result, Err(FieldError::Sequence { value, max }));
    } else {
        let place = |value: u64, field: Field| u128::from(value) << field.shift;
        let raw = place(parts.tick, fields.timestamp)
            + place(parts.node_id.into(), fields.node_id)
            + place(parts.sequence.into(), fields.sequence);
        let id = result.unwrap();
        prop_assert_eq!(u128::from(codec.raw(id)), raw);
        prop_assert_eq!(codec.inspect(id), parts);
    }
    Ok(())
}

fn parts_around<L: Layout>() -> impl Strategy<Value = Parts> {
    let LayoutFields {
        timestamp,
        node_id,
        sequence,
        ..
    } = L::SPEC.fields();
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    (around(timestamp), around(node_id), around(sequence)).prop_map(
        move |(tick, node_id, sequence)| Parts {
            tick,
            node_id: narrow(node_id),
            sequence: narrow(sequence),
        },
    )
}

fn any_fields() -> impl Strategy<Value = LayoutFields> {
    let field = || (0..=66_u32, 0..=66_u32).prop_map(|(bits, shift)| Field { bits, shift });
    let scattered =
        (field(), field(), field()).prop_map(|(timestamp, node_id, sequence)| LayoutFields {
            timestamp,
            node_id,
            sequence,
            epoch_unix_ms: 0,
            tick_ms: 1,
        });
    prop_oneof![fields_in_a_row(), scattered]
}

macro_rules! never_masks {
    ($($test:ident: $layout:ident),*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $test(parts in parts_around::<$layout>()) {
                    check_compose::<$layout>(parts)?;
                }
            )*
        }
    };
}

never_masks! {
    node_on_top_never_masks: NodeOnTop,
    sequence_on_top_never_masks: SequenceOnTop,
    with_gaps_never_masks: WithGaps,
    node_only_never_masks: NodeOnly,
    sequence_only_never_masks: SequenceOnly,
    long_time_never_masks: LongTime,
    snowflake_never_masks: Snowflake,
    sonyflake_never_masks: Sonyflake
}

/// Three fields one above the other, in any order, perhaps with gaps.
fn fields_in_a_row() -> impl Strategy<Value = LayoutFields> {
    let order = Just([0, 1, 2]).prop_shuffle();
    (
        1..=63_u32,
        0..=32_u32,
        0..=32_u32,
        prop::array::uniform3(0..=3_u32),
        order,
    )
        .prop_map(|(timestamp, node_id, sequence, gaps, order)| {
            let mut fields = [timestamp, node_id, sequence].map(|bits| Field { bits, shift: 0 });
            let mut shift = 0;
            for (index, gap) in order.into_iter().zip(gaps) {
                fields[index].shift = shift + gap;
                shift += gap + fields[index].bits;
            }
            let [timestamp, node_id, sequence] = fields;
            LayoutFields {
                timestamp,
                node_id,
                sequence,
                epoch_unix_ms: 0,
                tick_ms: 1,
            }
        })
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn layout_is_valid_if_fields_are_disjoint_and_inside(fields in any_fields()) {
        let LayoutFields { timestamp, node_id, sequence, .. } = fields;
        let mask = |field: Field| ((1_u128 << field.bits) - 1) << field.shift;
        let covered = mask(timestamp) | mask(node_id) | mask(sequence);
        let disjoint = covered.count_ones() == timestamp.bits + node_id.bits + sequence.bits;
        let narrow = (1..=63).contains(&timestamp.bits) && node_id.bits <= 32 && sequence.bits <= 32;
        let inside = [timestamp, node_id, sequence]
            .iter()
            .all(|field| field.bits + field.shift <= 64);
        let spec = LayoutSpec::new(fields);
        prop_assert_eq!(spec.is_ok(), disjoint && narrow && inside, "{:?}", spec);
    }

    #[test]
    fn any_valid_layout_unpacks_bit_by_bit(fields in fields_in_a_row(), raw: u64) {
        match LayoutSpec::new(fields) {
            Ok(spec) => {
                let parts = spec.unpack(raw);
                prop_assert_eq!(parts.tick, extract(fields.timestamp, raw));
                prop_assert_eq!(u64::from(parts.node_id), extract(fields.node_id, raw));
                prop_assert_eq!(u64::from(parts.sequence), extract(fields.sequence, raw));
                prop_assert_eq!(spec.max_tick(), max(fields.timestamp));
            }
            Err(error) => {
                let outside = matches!(error, LayoutError::FieldOutside { .. });
                prop_assert!(outside, "fields in a row fail only at the top: {}", error);
            }
        }
    }

}

/// Each mistake of a declaration is named.
#[test]
fn a_layout_without_time_or_tick_is_refused() {
    let fields = Snowflake::SPEC.fields();
    let mut no_time = fields;
    no_time.timestamp.bits = 0;
    assert_eq!(LayoutSpec::new(no_time), Err(LayoutError::NoTimestamp));
    let no_tick = LayoutFields {
        tick_ms: 0,
        ..fields
    };
    assert_eq!(LayoutSpec::new(no_tick), Err(LayoutError::NoTick));
}

#[test]
fn worker_out_of_range_is_refused() {
    let wrong = |name| FieldError::NodePart {
        name,
        value: 32,
        max: 31,
    };
    assert_eq!(Snowflake::node_id(31, 32), Err(wrong("worker")));
    assert_eq!(Snowflake::node_id(32, 31), Err(wrong("datacenter")));
}

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
    told.push(format!("{:?}", ids.close()));
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
fn custom_layout_pool_takes_the_next_node_id() {
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
