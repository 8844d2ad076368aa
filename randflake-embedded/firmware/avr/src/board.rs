//! The board of an ATmega1284P: a serial line, which simavr shows, and a timer that counts cycles.

use core::arch::{asm, naked_asm};
use core::fmt;
use core::hint::black_box;
use core::panic::PanicInfo;
use core::ptr::with_exposed_provenance_mut;

use randflake_embedded::randflake_core::{Layout, LayoutSpec, Plain, Randflake};

/// Registers, by their names in the data sheet; of 16 bits the lower half comes first.
const TIFR1: usize = 0x36;
const SMCR: usize = 0x53;
const SREG: usize = 0x5f;
const TIMSK1: usize = 0x6f;
const TCCR1B: usize = 0x81;
const TCNT1: usize = 0x84;
const OCR1A: usize = 0x88;
const UCSR0A: usize = 0xc0;
const UCSR0B: usize = 0xc1;
const UDR0: usize = 0xc6;

const SLEEP_ENABLE: u8 = 1 << 0;
const INTERRUPTS_ENABLE: u8 = 1 << 7;
/// Of both `TIFR1` and `TIMSK1`.
const COMPARE_MATCH_A: u8 = 1 << 1;
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

/// The upper half waits for the lower one, and both are written at once.
fn write_pair(register: usize, value: u16) {
    let [low, high] = value.to_le_bytes();
    write(register + 1, high);
    write(register, low);
}

/// The upper half is as it was when the lower one was read.
fn read_pair(register: usize) -> u16 {
    let low = read(register);
    u16::from_le_bytes([low, read(register + 1)])
}

/// The serial line of the board.
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

macro_rules! println {
    ($($format:tt)*) => {{
        use core::fmt::Write as _;
        _ = writeln!($crate::board::Serial, $($format)*);
    }};
}
pub(crate) use println;

/// The processor's cycles of a call that takes less than 65,536.
pub fn cycles<T>(call: impl FnOnce() -> T) -> u16 {
    write(TCCR1B, NO_PRESCALING);
    let begun = read_pair(TCNT1);
    black_box(call());
    read_pair(TCNT1).wrapping_sub(begun)
}

/// One interrupt, after so many cycles. Not inlined, so that none comes too soon for the call that
/// follows.
#[inline(never)]
pub fn interrupt_after(cycles: u32) {
    write(TCCR1B, NO_PRESCALING);
    // Far from any match until all is set.
    write_pair(TCNT1, 1 << 15);
    write_pair(OCR1A, cycles.try_into().unwrap());
    write(TIFR1, COMPARE_MATCH_A);
    write(TIMSK1, COMPARE_MATCH_A);
    write(SREG, INTERRUPTS_ENABLE);
    write_pair(TCNT1, 0);
}

/// The handler of TIMER1_COMPA: hands on where the program was, which the processor has put on the
/// stack in words.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __vector_13() {
    naked_asm!(
        "push r0",
        "in r0, 0x3f",
        "push r0",
        "push r1",
        "clr r1",
        ".irp n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 30, 31",
        "push r\\n",
        ".endr",
        "in r30, 0x3d",
        "in r31, 0x3e",
        "ldd r25, Z+16",
        "ldd r24, Z+17",
        "lsl r24",
        "rol r25",
        "call {handler}",
        ".irp n, 31, 30, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18",
        "pop r\\n",
        ".endr",
        "pop r1",
        "pop r0",
        "out 0x3f, r0",
        "pop r0",
        "reti",
        handler = sym interrupt,
    )
}

extern "C" fn interrupt(address: usize) {
    write(TIMSK1, 0);
    crate::sweep::interrupt(address);
}

/// In bytes, of which two are a word.
pub fn address(function: extern "C" fn()) -> usize {
    function as *const () as usize * 2
}

/// The layout of which `generate` is interrupted: without a cipher, of which an emulator would have
/// too much to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preempted;

impl Layout for Preempted {
    type Permutation = Plain;
    const SPEC: LayoutSpec = Randflake::SPEC;
}

pub fn permutation() -> Plain {
    Plain
}

struct MaskedInterrupts;

critical_section::set_impl!(MaskedInterrupts);

// SAFETY: there is one core, and nothing runs between the two instructions' masking and the
// restoring.
unsafe impl critical_section::Impl for MaskedInterrupts {
    unsafe fn acquire() -> u8 {
        let before = read(SREG);
        // SAFETY: masks interrupts, and lets no access to memory move above.
        unsafe { asm!("cli") };
        before
    }

    unsafe fn release(before: u8) {
        // SAFETY: puts the flag of interrupts back, and lets no access to memory move below.
        unsafe { asm!("out 0x3f, {0}", in(reg) before) };
    }
}

/// Sleeps for ever, at which simavr ends. What has failed is seen by what was said.
pub fn exit(_failed: bool) -> ! {
    write(SMCR, SLEEP_ENABLE);
    loop {
        // SAFETY: nothing runs any more.
        unsafe { asm!("cli", "sleep") };
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    exit(true)
}
