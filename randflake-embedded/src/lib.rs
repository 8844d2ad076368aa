#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

#[cfg(any(feature = "embassy-time", feature = "rtcc"))]
mod clocks;
mod flash_horizon;
mod flash_part;
#[cfg(feature = "heapless")]
mod id_string;
#[cfg(any(feature = "embassy-sync", feature = "heapless"))]
mod prefetch;
mod wait;
mod words;

#[cfg(feature = "embassy-time")]
pub use clocks::EmbassyUptime;
pub use flash_horizon::{FlashHorizon, lifetime_s};
pub use flash_part::{FlashPart, FlashPartError};
#[cfg(feature = "heapless")]
pub use id_string::id_string;
#[cfg(feature = "embassy-sync")]
pub use prefetch::AsyncPrefetch;
#[cfg(all(
    feature = "heapless",
    any(
        feature = "portable-atomic",
        target_has_atomic = "ptr",
        target_arch = "arm"
    )
))]
pub use prefetch::{Filler, Prefetch, Taker};
// In the version that this crate takes: types of another one would not fit.
#[cfg(feature = "rtcc")]
pub use clocks::{RtcError, set_clock_from_rtc, set_rtc};
pub use randflake_core;
pub use randflake_core::FlashHorizonError;
pub use wait::{wait, wait_async};
pub use words::CriticalSectionWord;
#[cfg(feature = "portable-atomic")]
pub use words::PortableWord;
