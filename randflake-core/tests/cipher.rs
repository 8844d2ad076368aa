//! A cipher that is chosen at run time does as the one that it is.

use randflake_core::{Cipher, Feistel53, Permutation, Sparx64};

const KEY: [u8; 16] = [7; 16];

fn agrees(cipher: &Cipher, expected: &impl Permutation) {
    assert_eq!(cipher.bits(), expected.bits());
    let raws = [0, 1, 42, (1 << 53) - 1];
    let mut all = raws;
    cipher.permute_all(&mut all);
    for (raw, id) in raws.into_iter().zip(all) {
        assert_eq!(id, expected.permute(raw));
        assert_eq!(cipher.permute(raw), id);
        assert_eq!(cipher.invert(id), raw);
    }
    cipher.invert_all(&mut all);
    assert_eq!(all, raws);
}

#[test]
fn each_cipher_is_itself() {
    let wide = Sparx64::new(&KEY);
    agrees(&wide.clone().into(), &wide);
    let numbers = Feistel53::new(wide);
    agrees(&numbers.clone().into(), &numbers);
}
