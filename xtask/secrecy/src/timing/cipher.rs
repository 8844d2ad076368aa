//! Key setup and both forms of the cipher, under a secret key, of secret blocks.

use sparx64::{Backend, Sparx64, Sparx64OnTheFly};

use super::{Allowed, Case, KEY, hidden_key, shown};
use crate::memcheck::hide;

/// More than any backend takes in a pass, and all that remains of one.
const LENGTHS: [usize; 9] = [1, 2, 3, 7, 8, 15, 31, 64, 131];

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn()| Case::new(name, Allowed::Nothing, run);
    let mut cases = vec![
        case("key setup, and one block", || {
            let cipher = Sparx64::new(&hidden_key());
            let mut block = 7_u64;
            hide(&mut block);
            let mut encrypted = cipher.encrypt_u64(block);
            let mut decrypted = cipher.decrypt_u64(block);
            let expected = Sparx64::new(&KEY);
            assert_eq!(shown(&mut encrypted), &expected.encrypt_u64(7));
            assert_eq!(shown(&mut decrypted), &expected.decrypt_u64(7));
        }),
        case("one block, round keys computed on the fly", || {
            let cipher = Sparx64OnTheFly::new(&hidden_key());
            let mut block = [7; 8];
            hide(&mut block);
            let (mut encrypted, mut decrypted) = (block, block);
            cipher.encrypt_block(&mut encrypted);
            cipher.decrypt_block(&mut decrypted);
            let number = u64::from_le_bytes([7; 8]);
            let expected = Sparx64::new(&KEY);
            let bytes = |number: u64| number.to_le_bytes();
            assert_eq!(shown(&mut encrypted), &bytes(expected.encrypt_u64(number)));
            assert_eq!(shown(&mut decrypted), &bytes(expected.decrypt_u64(number)));
        }),
    ];
    // Those that valgrind executes: its processor has no AVX-512.
    cases.extend(Backend::available().map(|backend| {
        let name = format!("many blocks, {backend}");
        Case::new(name, Allowed::Nothing, move || bulk(backend))
    }));
    cases
}

fn bulk(backend: Backend) {
    let expected = Sparx64::new(&KEY);
    let cipher = Sparx64::new(&hidden_key());
    for len in LENGTHS {
        let numbers: Vec<u64> = (0..).take(len).collect();
        let mut encrypted = numbers.clone();
        hide(&mut *encrypted);
        let mut decrypted = encrypted.clone();
        cipher.encrypt_blocks_with(backend, &mut encrypted);
        cipher.decrypt_blocks_with(backend, &mut decrypted);
        let all = |one: fn(&Sparx64, u64) -> u64| {
            let numbers = numbers.iter();
            numbers
                .map(|number| one(&expected, *number))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&mut *encrypted), all(Sparx64::encrypt_u64));
        assert_eq!(shown(&mut *decrypted), all(Sparx64::decrypt_u64));
    }
}
