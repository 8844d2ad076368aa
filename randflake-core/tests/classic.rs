//! Predefined layouts: their settings, and ids that others published.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;

use randflake_core::{
    Baidu, Codec, Discord, FieldError, Id, Instagram, Layout, LayoutError, LayoutFields,
    LayoutSpec, Mastodon, Milliflake, Parts, Permutation, Plain, Snowflake, Sonyflake, Sparx64,
};
use serde_json::Value;

fn number<T: core::str::FromStr<Err: core::fmt::Debug>>(value: &Value) -> T {
    let digits = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    digits.parse().unwrap()
}

/// The settings of the original give its ids.
fn check_vectors(json: &str, layout: LayoutSpec) {
    let codec = Codec::new(layout, Plain);
    let entries: Vec<Value> = serde_json::from_str(json).unwrap();
    assert_eq!(entries.len(), 40);
    for entry in &entries {
        let unix = Duration::from_millis(number(&entry["unix_ms"]));
        let (node_id, sequence) = (number(&entry["node_id"]), number(&entry["sequence"]));
        let id = Id::from_u64(number(&entry["id"]));
        assert_eq!(codec.compose_at(unix, node_id, sequence), Ok(id));
        assert_eq!(u128::from(codec.unix_ms(id)), unix.as_millis());
    }
}

#[test]
fn the_settings_of_the_originals_give_their_ids() {
    let snowflake = Snowflake::custom(1_288_834_974_657, 10, 12).unwrap();
    check_vectors(include_str!("vectors/snowflake.json"), snowflake);
    let sonyflake = Sonyflake::custom(1_409_529_600_000, 10, 8, 16).unwrap();
    check_vectors(include_str!("vectors/sonyflake.json"), sonyflake);
}

/// Each stored number is of one id, and the other way round, under the key of the vectors too.
#[test]
fn raw_ids_of_milliflake_are_those_of_the_vectors() {
    let json = include_str!("vectors/milliflake.json");
    check_vectors(json, Milliflake::SPEC);
    let codec = Codec::new(Milliflake, Sparx64::new(b"sixteen byte key"));
    let entries: Vec<Value> = serde_json::from_str(json).unwrap();
    for entry in &entries {
        let (raw, id) = (
            number(&entry["id"]),
            Id::from_i64(number(&entry["encrypted_id"])),
        );
        assert_eq!((codec.raw(id), codec.id(raw)), (raw, id));
    }
}

/// Every width that bwmarrin's rule allows: the timestamp has what is left of 63 bits.
#[cfg_attr(miri, ignore = "676 layouts take long")]
#[test]
fn snowflake_node_and_step_bits_are_settings() {
    for node_bits in 0..=25 {
        for step_bits in 0..=25 {
            let bits = node_bits + step_bits;
            let layout = Snowflake::custom(1_577_836_800_000, node_bits, step_bits);
            if bits > 22 {
                let error = LayoutError::TooFewTimestampBits { bits, most: 22 };
                assert_eq!(layout, Err(error));
                continue;
            }
            let codec = Codec::new(layout.unwrap(), Plain);
            let parts = Parts {
                tick: 5,
                node_id: (1 << node_bits) - 1,
                sequence: 0,
            };
            let raw = (5 << bits) | u64::from(parts.node_id) << step_bits;
            assert_eq!(codec.compose(parts), Ok(Id::from_u64(raw)));
        }
    }
}

/// What `toInternalTime` in `v2/sonyflake.go` does: units since 1970 less those of the start.
#[test]
fn sonyflake_v2_counts_units_as_the_original() {
    let (start, now) = (1_735_689_600_017_u64, 1_760_000_000_003_u64);
    for unit_ms in [1, 3, 10, 16, 1_000, 60_000] {
        let layout = Sonyflake::custom(start, unit_ms, 10, 12).unwrap();
        let codec = Codec::new(layout, Plain);
        let id = codec
            .compose_at(Duration::from_millis(now), 4_000, 1_000)
            .unwrap();
        let elapsed = now / unit_ms - start / unit_ms;
        assert_eq!(
            id.to_u64(),
            (elapsed << 22) + (1_000 << 12) + 4_000,
            "{unit_ms}"
        );
    }
    assert_eq!(Sonyflake::custom(start, 0, 8, 16), Err(LayoutError::NoTick));
    let error = LayoutError::TooFewTimestampBits { bits: 32, most: 31 };
    assert_eq!(Sonyflake::custom(start, 10, 16, 16), Err(error));
    let error = LayoutError::TimeOverflow;
    assert_eq!(Sonyflake::custom(0, 1 << 30, 8, 16), Err(error));
}

/// `unix_ms` of ids that their owners showed.
#[test]
fn published_ids_have_their_times() {
    let discord = Codec::new(Discord, Plain);
    let id = Id::from_u64(175_928_847_299_117_063);
    let parts = Parts {
        tick: 41_944_705_796,
        node_id: 32,
        sequence: 7,
    };
    assert_eq!(discord.inspect(id), parts);
    assert_eq!(discord.unix_ms(id), 1_462_015_105_796);
    let instagram = Codec::new(Instagram, Plain);
    for (id, unix) in [
        (2_384_288_897_814_875_714, 1_598_449_407),
        (2_383_568_809_444_681_765, 1_598_363_566),
    ] {
        assert_eq!(instagram.unix_ms(Id::from_u64(id)) / 1_000, unix);
    }
}

/// The widths make up what each source says, and the last dates are those of the documentation.
#[test]
fn the_layouts_end_when_their_documentation_says() {
    let last = |spec: LayoutSpec| spec.unix_ms(spec.max_tick());
    assert_eq!(last(Milliflake::SPEC), 2_829_511_627_775); // 2059-08-30 23:27:07.775
    assert_eq!(last(Discord::SPEC), 5_818_116_911_103); // 2154-05-15 07:35:11.103
    assert_eq!(last(Instagram::SPEC), 3_513_243_277_272); // 2081-04-30 12:54:37.272
    assert_eq!(last(Mastodon::SPEC), (1 << 48) - 1);
    assert_eq!(last(Baidu::SPEC), 1_732_109_055_000); // 2024-11-20 13:24:15
    assert_eq!(Mastodon::SPEC.max_node_id(), 0);
    // The last tick is a millisecond, and with Baidu's a second.
    assert_eq!(Discord::SPEC.end_unix_ms(), last(Discord::SPEC) + 1);
    assert_eq!(Baidu::SPEC.end_unix_ms(), last(Baidu::SPEC) + 1_000);
}

#[test]
fn encrypted_layout_is_the_plain_one_encrypted() {
    let cipher = || Sparx64::new(&[9; 16]);
    let entries: Vec<Value> = serde_json::from_str(include_str!("vectors/sonyflake.json")).unwrap();
    let hidden = Codec::new(Sonyflake, cipher());
    let plain = Codec::new(Sonyflake, Plain);
    for entry in &entries {
        let old = Id::from_u64(number(&entry["id"]));
        let new = hidden.id(old.to_u64());
        assert_eq!(new.to_u64(), cipher().permute(old.to_u64()));
        assert_eq!(hidden.compose(plain.inspect(old)), Ok(new));
        assert_eq!(Id::from_u64(hidden.raw(new)), old);
    }
}

#[test]
fn parts_of_the_node_id_are_checked() {
    let node_id = |values: &[u32]| Snowflake::SPEC.node_id(values);
    assert_eq!(node_id(&[3, 7]), Ok(103));
    assert_eq!(Snowflake::node_id(3, 7), Ok(103));
    let error = FieldError::NodePart {
        name: "worker",
        value: 32,
        max: 31,
    };
    assert_eq!(node_id(&[0, 32]), Err(error));
    assert_eq!(
        node_id(&[1]),
        Err(FieldError::NodeParts { given: 1, parts: 2 })
    );
    assert_eq!(Sonyflake::SPEC.node_parts(5).count(), 0);
    let wide = &[("all", 11)];
    assert_eq!(
        Snowflake::SPEC.with_node_fields(wide),
        Err(LayoutError::NodeFields {
            bits: 11,
            node_bits: 10
        })
    );
}

/// A part may be as wide as a node id can be.
#[test]
fn one_part_of_32_bits_is_the_node_id() {
    const ALL: &[(&str, u32)] = &[("all", 32)];
    let spec = LayoutSpec::new(LayoutFields::in_order([32, 32, 0], 0, 1))
        .and_then(|spec| spec.with_node_fields(ALL))
        .unwrap();
    assert_eq!(spec.node_id(&[u32::MAX]), Ok(u32::MAX));
    assert!(spec.node_parts(u32::MAX).eq([("all", u32::MAX)]));
}
