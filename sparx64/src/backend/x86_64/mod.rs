//! Backends for x86-64: AVX-512, AVX2 and SSE2, chosen at run time.

mod avx2;
mod avx512;
mod sse2;
#[path = "../vector_words.rs"]
mod vector_words;

use core::sync::atomic::{AtomicU8, Ordering};

use super::lanes::{Implementation, PORTABLE};
use crate::round::{Decrypt, Encrypt};

#[cfg(not(miri))]
use core::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};

pub(super) fn available() -> &'static [Implementation] {
    match InstructionSet::detected() {
        InstructionSet::Avx512 => &[AVX512, AVX2, SSE2, PORTABLE],
        InstructionSet::Avx2 => &[AVX2, SSE2, PORTABLE],
        InstructionSet::Sse2 => &[SSE2, PORTABLE],
    }
}

const AVX512: Implementation = Implementation {
    name: "avx512",
    min_blocks: 3,
    encrypt: avx512::run::<Encrypt>,
    decrypt: avx512::run::<Decrypt>,
};

const AVX2: Implementation = Implementation {
    name: "avx2",
    min_blocks: 3,
    encrypt: avx2::run::<Encrypt>,
    decrypt: avx2::run::<Decrypt>,
};

const SSE2: Implementation = Implementation {
    name: "sse2",
    // Every call first broadcasts the keys, which takes as long as five blocks one by one.
    min_blocks: 8,
    encrypt: sse2::run::<Encrypt>,
    decrypt: sse2::run::<Decrypt>,
};

/// The best instruction set that the processor has and the operating system supports. Each includes
/// those before it.
///
/// Source of the numbers: Intel, "64 and IA-32 Architectures Software Developer's Manual", volume
/// 1, sections 14.3 and 15.2 to 15.4, and volume 2A, "CPUID".
#[derive(Clone, Copy)]
enum InstructionSet {
    /// Part of every x86-64 processor.
    Sse2 = 1,
    /// Words of 16 blocks in a register.
    Avx2,
    /// AVX-512 F, BW and VBMI2: 32 blocks, and a rotation in one instruction.
    Avx512,
}

/// An [`InstructionSet`], or 0 before the first question. CPUID takes hundreds of cycles, in a
/// virtual machine tens of thousands. Threads that ask at the same time store the same answer.
static DETECTED: AtomicU8 = AtomicU8::new(0);

impl InstructionSet {
    fn detected() -> Self {
        const SSE2: u8 = InstructionSet::Sse2 as u8;
        const AVX2: u8 = InstructionSet::Avx2 as u8;
        const AVX512: u8 = InstructionSet::Avx512 as u8;
        // Relaxed will do: the byte carries no other data, and each thread could find it anew.
        match DETECTED.load(Ordering::Relaxed) {
            SSE2 => Self::Sse2,
            AVX2 => Self::Avx2,
            AVX512 => Self::Avx512,
            _ => {
                let level = detect();
                DETECTED.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }
}

#[cfg(not(miri))]
fn detect() -> InstructionSet {
    const OSXSAVE: u32 = 1 << 27;
    const AVX: u32 = 1 << 28;
    const AVX2: u32 = 1 << 5;
    const AVX512F_BW: u32 = 1 << 16 | 1 << 30;
    const VBMI2: u32 = 1 << 6;
    // Registers that the operating system saves on a switch: XMM and YMM; opmask and both of ZMM.
    const YMM_STATE: u64 = 0b110;
    const ZMM_STATE: u64 = 0b1110_0110;

    // Leaf 7 has the feature bits below; OSXSAVE must be seen before XGETBV may be executed.
    if cpuid(0).eax < 7 || cpuid(1).ecx & (OSXSAVE | AVX) != OSXSAVE | AVX {
        return InstructionSet::Sse2;
    }
    #[expect(unsafe_code, reason = "an instruction that not every processor has")]
    // SAFETY: OSXSAVE says that XGETBV may be used, and register 0 exists wherever it may.
    let saved = unsafe { _xgetbv(0) };
    let features = cpuid(7);
    // A processor may have AVX2 while the system does not save its registers on a context switch.
    if saved & YMM_STATE != YMM_STATE || features.ebx & AVX2 == 0 {
        return InstructionSet::Sse2;
    }
    // All three or none: `avx512` is written with the instructions of F, BW and VBMI2 together.
    if saved & ZMM_STATE != ZMM_STATE
        || features.ebx & AVX512F_BW != AVX512F_BW
        || features.ecx & VBMI2 == 0
    {
        return InstructionSet::Avx2;
    }
    InstructionSet::Avx512
}

#[cfg(not(miri))]
fn cpuid(leaf: u32) -> CpuidResult {
    // Newer versions of Rust call it safe; as this pointer it is unsafe in all of them.
    let cpuid: unsafe fn(u32, u32) -> CpuidResult = __cpuid_count;
    #[expect(unsafe_code, reason = "an instruction that enclaves may not use")]
    // SAFETY: every x86-64 processor has CPUID, and for SGX enclaves this module is not compiled.
    unsafe {
        cpuid(leaf, 0)
    }
}

/// Miri has no CPUID: what the build enables is there.
#[cfg(miri)]
fn detect() -> InstructionSet {
    ENABLED
}

#[cfg(all(miri, target_feature = "avx512vbmi2"))]
const ENABLED: InstructionSet = InstructionSet::Avx512;
#[cfg(all(miri, target_feature = "avx2", not(target_feature = "avx512vbmi2")))]
const ENABLED: InstructionSet = InstructionSet::Avx2;
#[cfg(all(miri, not(target_feature = "avx2")))]
const ENABLED: InstructionSet = InstructionSet::Sse2;
