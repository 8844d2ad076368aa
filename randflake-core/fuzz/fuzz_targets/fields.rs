//! Any key, fields and id: composing refuses, or inspecting undoes it, and the other way round.
#![no_main]

use libfuzzer_sys::fuzz_target;
use randflake_core::{Codec, Id, Layout, Parts, Plain, Randflake, Snowflake, Sonyflake, Sparx64};

/// A key, the three fields, and an id.
type Input = ([u8; 16], u64, u32, u32, u64);

fuzz_target!(|input: Input| {
    check(
        &Codec::new(Randflake, Sparx64::new(&input.0)),
        input,
        u64::MAX,
    );
    // The classic layouts leave the top bit alone.
    check(&Codec::new(Snowflake, Plain), input, u64::MAX >> 1);
    check(&Codec::new(Sonyflake, Plain), input, u64::MAX >> 1);
});

fn check<L: Layout>(codec: &Codec<L>, (_, tick, node_id, sequence, id): Input, used_bits: u64) {
    let parts = Parts {
        tick,
        node_id,
        sequence,
    };
    let fits = tick <= L::SPEC.max_tick()
        && node_id <= L::SPEC.max_node_id()
        && sequence <= L::SPEC.max_sequence();
    let composed = codec.compose(parts);
    assert_eq!(composed.is_ok(), fits);
    if let Ok(id) = composed {
        assert_eq!(codec.inspect(id), parts);
    }
    let id = Id::from_u64(id & used_bits);
    assert_eq!(codec.compose(codec.inspect(id)), Ok(id));
    assert_eq!(codec.id(codec.raw(id)), id);
}
