//! Requests to valgrind's memcheck, which knows of each bit whether it depends on memory that was
//! never written: here, on a secret. It reports each jump and each address that does.
//!
//! A request is a sequence of instructions that does nothing on a processor: `valgrind.h` and
//! `memcheck.h` of valgrind 3.19.
#![expect(unsafe_code, reason = "requests are instructions")]

#[cfg(target_arch = "x86_64")]
use core::arch::asm;

/// `VG_USERREQ__RUNNING_ON_VALGRIND` and `VG_USERREQ__COUNT_ERRORS`.
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
/// `VG_USERREQ_TOOL_BASE('M', 'C')`, with which the enumeration of memcheck begins.
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
const MAKE_MEM_DEFINED: usize = MEMCHECK + 2;
const GET_VBITS: usize = MEMCHECK + 8;

/// Whether memcheck looks on.
pub(crate) fn is_there() -> bool {
    request([RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0
}

/// How much it has reported so far.
pub(crate) fn reports() -> usize {
    request([COUNT_ERRORS, 0, 0, 0, 0, 0])
}

/// A type whose memory is all value: no padding, and no pointers.
///
/// # Safety
///
/// As said.
pub(crate) unsafe trait Words {}

// SAFETY: integers have no padding, and neither have arrays and slices of them.
unsafe impl Words for u8 {}
// SAFETY: as above.
unsafe impl Words for u16 {}
// SAFETY: as above.
unsafe impl Words for u32 {}
// SAFETY: as above.
unsafe impl Words for u64 {}
// SAFETY: a byte.
unsafe impl Words for bool {}
// SAFETY: as above.
unsafe impl<W: Words, const N: usize> Words for [W; N] {}
// SAFETY: as above.
unsafe impl<W: Words> Words for [W] {}

/// Declares a value secret.
pub(crate) fn hide(value: &mut (impl Words + ?Sized)) {
    mark(MAKE_MEM_UNDEFINED, value);
}

/// Declares a value public, before it decides on anything.
pub(crate) fn show(value: &mut (impl Words + ?Sized)) {
    mark(MAKE_MEM_DEFINED, value);
}

fn mark(what: usize, value: &mut (impl Words + ?Sized)) {
    let len = size_of_val(value);
    let start = (&raw mut *value).cast::<u8>().expose_provenance();
    request([what, start, len, 0, 0, 0]);
}

/// Whether a value depends on a secret.
pub(crate) fn is_hidden(value: &(impl Words + ?Sized)) -> bool {
    let len = size_of_val(value);
    let start = (&raw const *value).cast::<u8>().expose_provenance();
    let mut undefined = vec![0_u8; len];
    let bits = undefined.as_mut_ptr().expose_provenance();
    request([GET_VBITS, start, bits, len, 0, 0]);
    undefined.iter().any(|bits| *bits != 0)
}

/// Answers 0 where there is no valgrind.
#[cfg(target_arch = "x86_64")]
fn request(arguments: [usize; 6]) -> usize {
    let mut answer = 0;
    // SAFETY: on a processor the rotations sum to two whole turns, and the exchange is of a
    // register with itself. Valgrind reads the arguments, and reads or writes memory whose address
    // they expose, but for which bits are defined.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Other processors have other sequences: there it is as without valgrind.
#[cfg(not(target_arch = "x86_64"))]
fn request(_: [usize; 6]) -> usize {
    0
}
