//! Many ids to text at once, beside one at a time.

use proptest::prelude::*;
use randflake_core::{BufferTooShort, Id, Notation};

const ALL: [Notation; 3] = [Notation::Text, Notation::Signed, Notation::Unsigned];

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn naive(notation: Notation, ids: &[Id], separator: u8) -> Vec<u8> {
    let mut text = Vec::new();
    for id in ids {
        let one = match notation {
            Notation::Signed => id.to_i64().to_string(),
            Notation::Unsigned => id.to_u64().to_string(),
            _ => id.to_string(),
        };
        text.extend_from_slice(one.as_bytes());
        text.push(separator);
    }
    text
}

/// Mostly long ones, as encrypted ids are, with some of every length among them.
fn any_id() -> impl Strategy<Value = Id> {
    let shift = prop_oneof![20 => Just(0), 1 => 0..64_u32];
    (any::<u64>(), shift).prop_map(|(number, shift)| Id::from_u64(number >> shift))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lines_are_those_of_each_id(
        ids in prop::collection::vec(any_id(), 0..100),
        separator: u8,
        room in 0..64_usize,
    ) {
        for notation in ALL {
            let expected = naive(notation, &ids, separator);
            let most = ids.len() * (notation.max_len() + 1);
            prop_assert!(expected.len() <= most);
            for len in [expected.len() + room, most + room] {
                let mut buffer = vec![b'#'; len];
                prop_assert_eq!(notation.write(&ids, separator, &mut buffer), Ok(expected.len()));
                prop_assert_eq!(&buffer[..expected.len()], &expected);
            }
            if let Some(len) = expected.len().checked_sub(room + 1) {
                let mut buffer = vec![b'#'; len];
                let error = notation.write(&ids, separator, &mut buffer).unwrap_err();
                let BufferTooShort { needed, .. } = error;
                prop_assert_eq!((error.len, needed), (len, expected.len()));
                prop_assert!(buffer.iter().all(|&byte| byte == b'#'), "nothing was written");
            }
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_is_told_how_long_it_must_be() {
    let ids = [Id::from_i64(-1), Id::from_i64(31)];
    let error = Notation::Text.write(&ids, b'\n', &mut [0; 15]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the text takes 16 bytes: the buffer has 15"
    );
    assert_eq!(Notation::Signed.write(&[], b'\n', &mut []), Ok(0));
}
