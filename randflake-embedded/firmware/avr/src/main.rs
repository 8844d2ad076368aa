//! The cipher and ids on an 8-bit machine, whose `usize` has 16 bits: an ATmega1284P, as simavr emulates it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod machine;

use core::cell::Cell;
use core::fmt::Write as _;
use core::panic::PanicInfo;
use core::time::Duration;

use randflake_core::{
    Clock, Codec, GenerateError, Generator, Id, Layout, Lease, LocalWord, Parts, Plain, Randflake,
    RandflakeOnTheFly, Snowflake, Sparx64, Sparx64OnTheFly,
};

use machine::{Serial, cycles, end};

include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// Counts what passed and failed, and says it as `cargo test` does.
#[derive(Default)]
struct Suite {
    passed: u16,
    failed: u16,
}

impl Suite {
    fn check(&mut self, name: &str, holds: bool) {
        self.passed += u16::from(holds);
        self.failed += u16::from(!holds);
        let verdict = if holds { "ok" } else { "FAILED" };
        _ = writeln!(Serial, "test {name} ... {verdict}");
    }

    fn finish(self) -> ! {
        let Self { passed, failed } = self;
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        _ = writeln!(
            Serial,
            "test result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured"
        );
        end()
    }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let mut suite = Suite::default();
    suite.check(
        "sparx64_vectors",
        SPARX64.iter().all(|(key, plaintext, ciphertext)| {
            let (cipher, mut block) = (Sparx64::new(key), *plaintext);
            cipher.encrypt_block(&mut block);
            let encrypts = block == *ciphertext;
            cipher.decrypt_block(&mut block);
            encrypts && block == *plaintext
        }),
    );
    suite.check(
        "sparx64_vectors_on_the_fly",
        SPARX64.iter().all(|(key, plaintext, ciphertext)| {
            let (cipher, mut block) = (Sparx64OnTheFly::new(key), *plaintext);
            cipher.encrypt_block(&mut block);
            let encrypts = block == *ciphertext;
            cipher.decrypt_block(&mut block);
            encrypts && block == *plaintext
        }),
    );
    suite.check(
        "randflake_vectors",
        RANDFLAKE.iter().all(|(key, parts, text)| {
            agrees(&Codec::<Randflake>::new(Sparx64::new(key)), *parts, text)
        }),
    );
    suite.check(
        "randflake_vectors_on_the_fly",
        RANDFLAKE.iter().all(|(key, parts, text)| {
            let cipher = Sparx64OnTheFly::new(key);
            agrees(&Codec::<RandflakeOnTheFly>::new(cipher), *parts, text)
        }),
    );
    suite.check("a_tick_of_snowflakes", a_tick());
    cycles_of_a_block();
    suite.finish()
}

fn agrees<L: Layout>(codec: &Codec<L>, parts: Parts, text: &str) -> bool {
    let id: Result<Id, _> = text.parse();
    id.is_ok_and(|id| {
        codec.compose(parts) == Ok(id)
            && codec.inspect(id) == parts
            && id.to_text().as_str() == text
    })
}

fn cycles_of_a_block() {
    let (table, on_the_fly) = (Sparx64::new(&[7; 16]), Sparx64OnTheFly::new(&[7; 16]));
    let table = cycles(|| table.encrypt_u64(7));
    let on_the_fly = cycles(|| on_the_fly.encrypt_u64(7));
    _ = writeln!(
        Serial,
        "cycles of a block: {table} with a table, {on_the_fly} on the fly"
    );
}

/// Milliseconds of Unix time that are told.
struct Told<'a>(&'a Cell<u64>);

impl Clock for Told<'_> {
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.0.get()))
    }
}

/// A generator issues all 4,096 ids of a tick once, then none, then those of the next tick.
fn a_tick() -> bool {
    let now_ms = Cell::new(Snowflake::SPEC.unix_ms(1_000));
    let lease = Lease::new(3, 1_000, 2_000).unwrap();
    let ids = Generator::<Snowflake, LocalWord<u32>, _>::new(lease, Told(&now_ms), Plain).unwrap();
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

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    _ = writeln!(Serial, "{info}");
    end()
}
