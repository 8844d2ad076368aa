//! Known answers: `vectors/README.md` names their source.

use serde_json::Value;
use sparx64::{Sparx64, Sparx64OnTheFly};

#[test]
fn known_answers() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("vectors/sparx64.json")).unwrap();
    assert_eq!(vectors.len(), 50);
    for vector in vectors.iter().step_by(if cfg!(miri) { 8 } else { 1 }) {
        let number = |name| u128::from_str_radix(vector[name].as_str().unwrap(), 16).unwrap();
        let block = |name| u64::try_from(number(name)).unwrap().to_be_bytes();
        let cipher = Sparx64::new(&number("key").to_be_bytes());
        let (plaintext, ciphertext) = (block("plaintext"), block("ciphertext"));

        let mut block = plaintext;
        cipher.encrypt_block(&mut block);
        assert_eq!(block, ciphertext, "{vector}");
        cipher.decrypt_block(&mut block);
        assert_eq!(block, plaintext, "{vector}");

        let on_the_fly = Sparx64OnTheFly::new(&number("key").to_be_bytes());
        on_the_fly.encrypt_block(&mut block);
        assert_eq!(block, ciphertext, "{vector}");
        on_the_fly.decrypt_block(&mut block);
        assert_eq!(block, plaintext, "{vector}");
    }
}
