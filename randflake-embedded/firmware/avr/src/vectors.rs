//! The libraries' test vectors, a generator's ids of a tick, and what a block costs.

use core::cell::Cell;
use core::time::Duration;

use randflake_embedded::randflake_core::{
    Clock, Codec, GenerateError, Generator, Id, Layout, Lease, LocalWord, Parts, Permutation,
    Plain, Randflake, Snowflake, Sparx64, Sparx64OnTheFly,
};

use crate::board::{cycles, println};
use crate::suite::{Suite, expect};

include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

pub fn run(suite: &mut Suite) {
    let agree = |holds| expect(holds, "all agree");
    suite.check(
        "sparx64_vectors",
        agree(SPARX64.iter().all(|(key, plaintext, ciphertext)| {
            let cipher = Sparx64::new(key);
            cipher.encrypt_u64(*plaintext) == *ciphertext
                && cipher.decrypt_u64(*ciphertext) == *plaintext
        })),
    );
    suite.check(
        "sparx64_vectors_on_the_fly",
        agree(SPARX64.iter().all(|(key, plaintext, ciphertext)| {
            let cipher = Sparx64OnTheFly::new(key);
            cipher.encrypt_u64(*plaintext) == *ciphertext
                && cipher.decrypt_u64(*ciphertext) == *plaintext
        })),
    );
    suite.check(
        "randflake_vectors",
        agree(
            RANDFLAKE
                .iter()
                .all(|(key, raw, id)| agrees(Sparx64::new(key), *raw, *id)),
        ),
    );
    suite.check(
        "randflake_vectors_on_the_fly",
        agree(
            RANDFLAKE
                .iter()
                .all(|(key, raw, id)| agrees(Sparx64OnTheFly::new(key), *raw, *id)),
        ),
    );
    suite.check(
        "text_vectors",
        agree(TEXTS.iter().all(|(id, text)| {
            let id = Id::from_i64(*id);
            id.to_text().as_str() == *text && text.parse() == Ok(id)
        })),
    );
    suite.check(
        "a_tick_of_snowflakes",
        expect(a_tick(), "4,096 ids, then none, then the next"),
    );
    cycles_of_a_block();
}

fn agrees(permutation: impl Permutation, raw: u64, id: i64) -> bool {
    let (codec, id) = (Codec::new(Randflake, permutation), Id::from_i64(id));
    let parts = Randflake::SPEC.unpack(raw);
    codec.compose(parts) == Ok(id) && codec.inspect(id) == parts
}

fn cycles_of_a_block() {
    let (table, on_the_fly) = (Sparx64::new(&[7; 16]), Sparx64OnTheFly::new(&[7; 16]));
    let table = cycles(|| table.encrypt_u64(7));
    let on_the_fly = cycles(|| on_the_fly.encrypt_u64(7));
    println!("cycles of a block: {table} with a table, {on_the_fly} on the fly");
}

/// Milliseconds of Unix time that the test sets.
struct CellClock<'a>(&'a Cell<u64>);

impl Clock for CellClock<'_> {
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.0.get()))
    }
}

/// A generator issues all 4,096 ids of a tick once, then none, then those of the next tick.
fn a_tick() -> bool {
    let now_ms = Cell::new(Snowflake::SPEC.unix_ms(1_000));
    let lease = Lease::new(Snowflake, 3, 1_000, 2_000).unwrap();
    let ids =
        Generator::<Snowflake, LocalWord<u32>, _>::new(lease, CellClock(&now_ms), Plain).unwrap();
    let next = || ids.generate().map(|id| ids.inspect(id));
    let position = |tick, sequence| Parts {
        tick,
        node_id: 3,
        sequence,
    };
    let all = (0..4_096).all(|sequence| next() == Ok(position(1_000, sequence)));
    let none = next() == Err(GenerateError::SequenceExhausted { retry_in_ms: 1 });
    now_ms.set(now_ms.get() + 1);
    all && none && next() == Ok(position(1_001, 0))
}
