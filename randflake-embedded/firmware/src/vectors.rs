//! The libraries' test vectors.

use core::fmt::{self, Display};

use randflake_embedded::randflake_core::{
    Codec, Id, Parts, Permutation, Randflake as Layout, Sparx64, Sparx64OnTheFly,
};

use crate::suite::Suite;

include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

pub struct Randflake {
    key: u128,
    tick: u64,
    node_id: u32,
    sequence: u32,
    id: i64,
    text: &'static str,
}

/// The vector that failed.
struct At(usize);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vector {} differs", self.0)
    }
}

/// How many vectors passed.
struct Agree(usize);

impl Display for Agree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vectors agree", self.0)
    }
}

pub fn run(suite: &mut Suite) {
    suite.check("sparx64_vectors", all(SPARX64, cipher_agrees));
    suite.check(
        "randflake_vectors",
        all(RANDFLAKE, |vector| {
            agrees(vector, Sparx64::new(&vector.key.to_be_bytes()))
        }),
    );
    suite.check(
        "randflake_vectors_on_the_fly",
        all(RANDFLAKE, |vector| {
            agrees(vector, Sparx64OnTheFly::new(&vector.key.to_be_bytes()))
        }),
    );
}

fn all<V>(vectors: &[V], holds: impl Fn(&V) -> bool) -> Result<Agree, At> {
    match vectors.iter().position(|vector| !holds(vector)) {
        None if vectors.is_empty() => Err(At(0)),
        None => Ok(Agree(vectors.len())),
        Some(at) => Err(At(at)),
    }
}

fn cipher_agrees((key, plaintext, ciphertext): &(u128, u64, u64)) -> bool {
    let (plaintext, ciphertext) = (plaintext.swap_bytes(), ciphertext.swap_bytes());
    let table = Sparx64::new(&key.to_be_bytes());
    let on_the_fly = Sparx64OnTheFly::new(&key.to_be_bytes());
    table.encrypt_u64(plaintext) == ciphertext
        && table.decrypt_u64(ciphertext) == plaintext
        && on_the_fly.encrypt_u64(plaintext) == ciphertext
        && on_the_fly.decrypt_u64(ciphertext) == plaintext
}

fn agrees(vector: &Randflake, permutation: impl Permutation) -> bool {
    let codec = Codec::new(Layout, permutation);
    let parts = Parts {
        tick: vector.tick,
        node_id: vector.node_id,
        sequence: vector.sequence,
    };
    let id = Id::from_i64(vector.id);
    codec.compose(parts) == Ok(id)
        && codec.inspect(id) == parts
        && id.to_text().as_str() == vector.text
        && vector.text.parse() == Ok(id)
}
