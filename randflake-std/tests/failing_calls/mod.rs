//! System calls that fail on demand, for tests of what reaches a disk.
//!
//! `write` and its like of this program stand before those of the C library, for the standard
//! library and linked C code alike, and fail in the thread that asked for it.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "these functions are the C library's")]

use core::cell::Cell;
use core::ffi::{c_int, c_long, c_void};

use libc::{
    EIO, ENOSPC, SYS_fdatasync, SYS_fsync, SYS_ftruncate, SYS_pwrite64, SYS_write, off_t, size_t,
    ssize_t,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The error `EIO` of a disk.
    Broken,
    /// The error `ENOSPC` of a disk.
    Full,
    /// Half is written, and no more.
    Short,
}

#[derive(Clone, Copy)]
struct Plan {
    /// Calls that still do what they should.
    sound: u32,
    fault: Fault,
    /// Each call after the first that fails does too.
    is_lasting: bool,
    has_struck: bool,
}

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
}

/// Does something in which one call that writes or syncs fails, after so many that do not, or each
/// from there on. Says whether it came to that.
pub(crate) fn with_fault<T>(
    sound: u32,
    fault: Fault,
    is_lasting: bool,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    PLAN.set(Some(Plan {
        sound,
        fault,
        is_lasting,
        has_struck: false,
    }));
    let outcome = work();
    let plan = PLAN.take();
    (outcome, plan.is_some_and(|plan| plan.has_struck))
}

fn strikes() -> Option<Fault> {
    let mut plan = PLAN.get()?;
    let strikes = if plan.sound > 0 {
        plan.sound -= 1;
        false
    } else {
        !plan.has_struck || plan.is_lasting
    };
    // Of a short write the rest does not fit.
    let is_rest = plan.has_struck && plan.fault == Fault::Short;
    plan.has_struck |= strikes;
    if is_rest {
        plan.fault = Fault::Full;
    }
    PLAN.set(Some(plan));
    (strikes || is_rest).then_some(plan.fault)
}

fn failed(error: c_int) -> c_int {
    // SAFETY: the call touches no memory.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it is this thread's own, for as long as the thread lives.
    unsafe { *errno = error };
    -1
}

/// A call that cannot be half done.
fn whole(call: impl FnOnce() -> c_long) -> c_int {
    match strikes() {
        Some(Fault::Full) => failed(ENOSPC),
        Some(Fault::Broken | Fault::Short) => failed(EIO),
        None => c_int::try_from(call()).unwrap_or(-1),
    }
}

/// A call that writes so many bytes.
fn partial(count: size_t, call: impl FnOnce(size_t) -> c_long) -> ssize_t {
    let outcome = match strikes() {
        Some(Fault::Full) => failed(ENOSPC).into(),
        Some(Fault::Broken) => failed(EIO).into(),
        Some(Fault::Short) => call(count / 2),
        None => call(count),
    };
    ssize_t::try_from(outcome).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn write(file: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: passed on as it came, with a count that is no higher.
    partial(count, |count| unsafe {
        libc::syscall(SYS_write, file, bytes, count)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(file: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t {
    // SAFETY: as above.
    partial(count, |count| unsafe {
        libc::syscall(SYS_pwrite64, file, bytes, count, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwrite(file: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t {
    pwrite64(file, bytes, count, at)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: the call touches no memory.
    whole(|| unsafe { libc::syscall(SYS_fsync, file) })
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: as above.
    whole(|| unsafe { libc::syscall(SYS_fdatasync, file) })
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(file: c_int, len: off_t) -> c_int {
    // SAFETY: as above.
    whole(|| unsafe { libc::syscall(SYS_ftruncate, file, len) })
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(file: c_int, len: off_t) -> c_int {
    ftruncate64(file, len)
}
