//! The vectors of the running processor beside the scalar twin and the standard library.
#![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

extern crate std;

use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use super::*;

const ALL: [Notation; 3] = [Notation::Text, Notation::Signed, Notation::Unsigned];

/// Where numbers of digits change, and beside it; heads and groups of zeros and of nines.
fn edges() -> Vec<u64> {
    // An interpreter takes its time: some of them there.
    let one_in = |some| if cfg!(miri) { some } else { 1 };
    let decimal = (0..20).map(|digits| 10_u64.pow(digits));
    let binary = (0..64).map(|bits| 1 << bits);
    let heads = (1..1_845)
        .step_by(one_in(461))
        .map(|head| head * 10_000_000_000_000_000);
    let groups = (0..1_000)
        .step_by(one_in(333))
        .map(|group| 1_234_000_000_000_000_000 + group * 99_999_999);
    decimal
        .chain(binary)
        .chain(heads)
        .chain(groups)
        .flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)])
        .flat_map(|edge| [edge, edge.wrapping_neg()])
        .step_by(one_in(31))
        .collect()
}

fn naive(notation: Notation, ids: &[Id], separator: u8) -> Vec<u8> {
    let text = |id: &Id| match notation {
        Notation::Text => id.to_text().to_string(),
        Notation::Signed => id.to_i64().to_string(),
        Notation::Unsigned => id.to_u64().to_string(),
    };
    let texts = ids.iter().map(text).map(String::into_bytes);
    texts
        .flat_map(|text| [text, vec![separator]].concat())
        .collect()
}

#[track_caller]
fn assert_written(notation: Notation, ids: &[Id]) {
    let expected = naive(notation, ids, b'\n');
    let mut buffer = vec![b'#'; ids.len() * 21];
    assert_eq!(notation.write(ids, b'\n', &mut buffer), Ok(expected.len()));
    assert_eq!(buffer[..expected.len()], expected, "{notation:?} {ids:?}");
    let lens = ids.iter().map(|&id| notation.len(id) + 1);
    assert_eq!(lens.sum::<usize>(), expected.len());
    let len = scalar::write(notation, ids, b'\n', &mut buffer);
    assert_eq!(buffer[..len], expected, "{notation:?} {ids:?}");
}

#[test]
fn edges_are_written_among_others() {
    let ids: Vec<_> = edges().into_iter().map(Id::from_u64).collect();
    for notation in ALL {
        assert_written(notation, &ids);
        for group in ids.chunks(12) {
            // Alone, each slows down the seven around it in decimal, or the three in base32hex.
            let mut long = [Id::from_u64(0x9E37_79B9_7F4A_7C15); 24];
            long[11] = group[0];
            assert_written(notation, &long);
            long[12..][..group.len()].copy_from_slice(group);
            assert_written(notation, &long);
        }
    }
}

#[test]
fn every_number_of_ids_fits_a_buffer_of_its_length_and_no_shorter_one() {
    let mut number: u64 = 0x9E37_79B9_7F4A_7C15;
    let ids: Vec<_> = (0..if cfg!(miri) { 9 } else { 40 })
        .map(|index| {
            number = number.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            Id::from_u64(if index % 7 == 0 { number >> 5 } else { number })
        })
        .collect();
    for notation in ALL {
        for count in (0..=ids.len()).step_by(if cfg!(miri) { 3 } else { 1 }) {
            let ids = &ids[..count];
            let expected = naive(notation, ids, b',');
            for len in (0..expected.len() + 24).step_by(if cfg!(miri) { 13 } else { 1 }) {
                let mut buffer = vec![b'#'; len];
                let written = notation.write(ids, b',', &mut buffer);
                if len < expected.len() {
                    let needed = expected.len();
                    assert_eq!(written, Err(BufferTooShort { len, needed }));
                    assert!(buffer.iter().all(|&byte| byte == b'#'));
                } else {
                    assert_eq!(written, Ok(expected.len()));
                    assert_eq!(buffer[..expected.len()], expected);
                }
            }
        }
    }
}
