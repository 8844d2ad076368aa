//! The next id as a device takes it: round keys made anew, a word in a critical section, and for a clock the ticks of
//! a 32,768 Hz timer with the offset that synchronisation sets.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::time::Duration;

use randflake_embedded::CriticalSectionWord;
use randflake_embedded::randflake_core::{
    GenerateError, Generator, Id, Randflake, Sparx64OnTheFly, UnixClock, Uptime,
};
use size::{Counter, START_UNIX_S};

type Ticks = Uptime<{ Counter::HZ }, fn() -> u32, CriticalSectionWord>;
type Ids = Generator<
    Randflake,
    CriticalSectionWord,
    UnixClock<Ticks, CriticalSectionWord>,
    Sparx64OnTheFly,
>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &Ids) -> Result<Id, GenerateError> {
    ids.generate()
}

size::image!(Ids, {
    let clock = UnixClock::new(Ticks::new(Counter::read));
    size::expect(clock.set(Duration::from_secs(START_UNIX_S)));
    let cipher = Sparx64OnTheFly::new(size::KEY_BYTES);
    let ids = size::expect(Ids::new(size::lease(), clock, cipher));
    size::take_ids(|| probe(black_box(&ids)));
});
