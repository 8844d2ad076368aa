//! Layouts of any order of fields, beside twins that look at one bit at a time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use randflake_core::{
    Codec, Field, FieldError, Layout, LayoutError, LayoutFields, LayoutSpec, Parts, Plain,
    Snowflake, Sonyflake,
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
    fn a_layout_is_valid_exactly_when_its_fields_are_apart_and_inside(fields in any_fields()) {
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
fn a_worker_out_of_range_is_not_taken_for_a_datacenter() {
    let wrong = |name| FieldError::NodePart {
        name,
        value: 32,
        max: 31,
    };
    assert_eq!(Snowflake::node_id(31, 32), Err(wrong("worker")));
    assert_eq!(Snowflake::node_id(32, 31), Err(wrong("datacenter")));
}
