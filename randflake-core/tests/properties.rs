//! Properties of every id, key and time of the Randflake layout, and of the arithmetic of ticks.

use core::time::Duration;

use proptest::prelude::*;
use randflake_core::{
    Codec, FieldError, Layout, LayoutFields, LayoutSpec, Parts, Permutation, Plain, Randflake,
    Sparx64, Sparx64OnTheFly,
};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn randflake_fields_are_at_their_place(tick in 0..1_u64 << 30, node_id in 0..1_u32 << 17, sequence in 0..1_u32 << 17, key: [u8; 16]) {
        let parts = Parts { tick, node_id, sequence };
        let codec = Codec::new(Randflake, Sparx64::new(&key));
        let id = codec.compose(parts).unwrap();
        prop_assert_eq!(codec.raw(id), tick << 34 | u64::from(node_id) << 17 | u64::from(sequence));
        prop_assert_eq!(codec.inspect(id), parts);
        prop_assert_eq!(codec.unix_ms(id), (1_730_000_000 + tick) * 1_000);
    }

    #[test]
    fn ticks_are_those_of_slow_arithmetic(
        epoch_unix_ms in prop_oneof![Just(0), Just(1_730_000_000_000), 0..1_u64 << 42],
        tick_ms in prop_oneof![Just(1), Just(10), Just(1_000), Just(60_000), 1..100_000_u64],
        unix_ns in 0..1_u64 << 62,
    ) {
        let fields = LayoutFields { epoch_unix_ms, tick_ms, ..Randflake::SPEC.fields() };
        let spec = LayoutSpec::new(fields).unwrap();
        let unix = Duration::from_nanos(unix_ns);
        let expected = (unix_ns / 1_000_000).checked_sub(epoch_unix_ms).map(|ms| ms / tick_ms);
        prop_assert_eq!(spec.tick_at(unix), expected);
        if let Some(tick) = expected {
            let begins = spec.unix_ms(tick);
            prop_assert_eq!(begins, epoch_unix_ms + tick * tick_ms);
            prop_assert_eq!(spec.tick_at(Duration::from_millis(begins)), Some(tick));
        }
    }

    #[test]
    fn a_permutation_has_an_inverse_on_either_side(key: [u8; 16], number: u64) {
        let cipher = Sparx64::new(&key);
        prop_assert_eq!(cipher.invert(cipher.permute(number)), number);
        prop_assert_eq!(cipher.permute(cipher.invert(number)), number);
        prop_assert_eq!(Plain.permute(number), number);
        prop_assert_eq!(Plain.invert(number), number);
    }

    #[test]
    fn many_at_once_are_the_same_as_one_by_one(key: [u8; 16], numbers in prop::collection::vec(any::<u64>(), 0..100)) {
        fn check(permutation: &impl Permutation, numbers: &[u64]) {
            let (mut many, mut raw) = (numbers.to_vec(), numbers.to_vec());
            permutation.permute_all(&mut many);
            permutation.invert_all(&mut raw);
            for ((&number, many), raw) in numbers.iter().zip(many).zip(raw) {
                assert_eq!(many, permutation.permute(number));
                assert_eq!(raw, permutation.invert(number));
            }
        }
        let cipher = Sparx64::new(&key);
        check(&&cipher, &numbers);
        check(&Some(cipher), &numbers);
        check(&None::<Sparx64>, &numbers);
        check(&Plain, &numbers);
        check(&Sparx64OnTheFly::new(&key), &numbers);
    }
}

#[test]
fn the_randflake_epoch_ends_where_it_is_said_to() {
    let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
    let compose_at = |seconds| codec.compose_at(Duration::from_secs(seconds), 1, 2);
    let before = FieldError::BeforeEpoch {
        epoch_unix_ms: 1_730_000_000_000,
    };
    assert_eq!(compose_at(1_729_999_999), Err(before));
    assert_eq!(
        codec.compose_at(Duration::from_nanos(1_729_999_999_999_999_999), 1, 2),
        Err(before)
    );
    for (seconds, tick) in [
        (1_730_000_000, 0),
        (2_266_870_911, (1 << 29) - 1),
        (2_266_870_912, 1 << 29),       // 2041-10-31 22:21:52 UTC
        (2_803_741_823, (1 << 30) - 1), // 2058-11-05 17:10:23 UTC
    ] {
        let id = compose_at(seconds).unwrap();
        assert_eq!(
            codec.inspect(id),
            Parts {
                tick,
                node_id: 1,
                sequence: 2
            }
        );
        assert_eq!(codec.unix_ms(id), seconds * 1_000);
        assert_eq!(codec.raw(id) >> 63 == 1, seconds >= 2_266_870_912);
    }
    let last = Duration::new(2_803_741_823, 999_999_999);
    assert!(codec.compose_at(last, 1, 2).is_ok());
    for tick in [1 << 30, u64::MAX - 1_730_000_000] {
        let past = FieldError::Timestamp {
            tick,
            max: (1 << 30) - 1,
        };
        assert_eq!(compose_at(1_730_000_000 + tick), Err(past));
    }
}
