//! Leaks that must be found.

use core::hint::black_box;

use super::{Allowed, Case, KEY, hidden_key};
use crate::memcheck::show;

static TABLE: [u8; 256] = [7; 256];

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn()| Case::new(name, Allowed::Leak, run);
    vec![
        case("a comparison that returns early", || {
            let (key, other) = (hidden_key(), KEY);
            let mut pairs = key.iter().zip(&other);
            let mut is_equal = pairs.all(|(a, b)| black_box(*a) == *b);
            show(&mut is_equal);
            assert!(is_equal);
        }),
        case("a table indexed by a byte of the key", || {
            let [first, ..] = hidden_key();
            let mut entry = black_box(&TABLE)[usize::from(first)];
            show(&mut entry);
            assert_eq!(entry, 7);
        }),
        case("a branch on a bit of the key", || {
            let [first, ..] = hidden_key();
            if black_box(first) & 1 == 1 {
                black_box(());
                assert_eq!(KEY[0] & 1, 1);
            }
        }),
    ]
}
