#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

mod critical_section_word;
#[cfg(feature = "embassy-time")]
mod embassy_uptime;
mod flash_horizon;
mod flash_part;
#[cfg(feature = "heapless")]
mod id_string;
#[cfg(feature = "portable-atomic")]
mod portable_word;
#[cfg(any(feature = "embassy-sync", feature = "heapless"))]
mod prefetch;
#[cfg(feature = "rtcc")]
mod rtc;
mod wait;

pub use critical_section_word::CriticalSectionWord;
#[cfg(feature = "embassy-time")]
pub use embassy_uptime::EmbassyUptime;
pub use flash_horizon::{FlashHorizon, lifetime_s};
pub use flash_part::{FlashPart, FlashPartError};
#[cfg(feature = "heapless")]
pub use id_string::id_string;
#[cfg(feature = "portable-atomic")]
pub use portable_word::PortableWord;
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
pub use randflake_core;
pub use randflake_core::FlashHorizonError;
#[cfg(feature = "rtcc")]
pub use rtc::{RtcError, set_clock_from_rtc, set_rtc};
pub use wait::{wait, wait_async};
