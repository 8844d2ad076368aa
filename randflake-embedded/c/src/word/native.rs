//! Where the processor compares and swaps.

pub(crate) type Word = core::sync::atomic::AtomicU32;
