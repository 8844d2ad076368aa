//! What an ATmega1284P has: a serial line, which simavr shows, and a counter of cycles.

use core::arch::asm;
use core::fmt;
use core::hint::black_box;
use core::ptr::with_exposed_provenance_mut;

/// Registers, by their names in the data sheet.
const SMCR: usize = 0x53;
const TCCR1B: usize = 0x81;
const TCNT1L: usize = 0x84;
const TCNT1H: usize = 0x85;
const UCSR0A: usize = 0xc0;
const UCSR0B: usize = 0xc1;
const UDR0: usize = 0xc6;

const SLEEP_ENABLE: u8 = 1 << 0;
const NO_PRESCALING: u8 = 1 << 0;
const TRANSMITTER_ENABLE: u8 = 1 << 3;
const DATA_REGISTER_EMPTY: u8 = 1 << 5;

fn write(register: usize, value: u8) {
    // SAFETY: it is one of those above.
    unsafe { with_exposed_provenance_mut::<u8>(register).write_volatile(value) };
}

fn read(register: usize) -> u8 {
    // SAFETY: as above.
    unsafe { with_exposed_provenance_mut::<u8>(register).read_volatile() }
}

/// The serial line.
pub struct Serial;

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write(UCSR0B, TRANSMITTER_ENABLE);
        for &byte in text.as_bytes() {
            while read(UCSR0A) & DATA_REGISTER_EMPTY == 0 {}
            write(UDR0, byte);
        }
        Ok(())
    }
}

/// The processor's cycles of a call that takes less than 65,536.
pub fn cycles<T>(call: impl FnOnce() -> T) -> u16 {
    // The lower half first: that keeps the upper one as it was then.
    let now = || u16::from_le_bytes([read(TCNT1L), read(TCNT1H)]);
    write(TCCR1B, NO_PRESCALING);
    let begun = now();
    black_box(call());
    now().wrapping_sub(begun)
}

/// Sleeps for ever, at which simavr ends.
pub fn end() -> ! {
    write(SMCR, SLEEP_ENABLE);
    loop {
        // SAFETY: nothing runs any more.
        unsafe { asm!("cli", "sleep") };
    }
}
