#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

#[cfg(feature = "critical-section")]
mod critical_section_word;
#[cfg(feature = "embassy-time")]
mod embassy_uptime;
#[cfg(feature = "embedded-storage")]
mod flash_part;
#[cfg(feature = "embedded-storage")]
mod nor_horizon;
#[cfg(feature = "portable-atomic")]
mod portable_word;

#[cfg(feature = "critical-section")]
pub use critical_section_word::CriticalSectionWord;
#[cfg(feature = "embassy-time")]
pub use embassy_uptime::EmbassyUptime;
#[cfg(feature = "embedded-storage")]
pub use flash_part::FlashPart;
#[cfg(feature = "embedded-storage")]
pub use nor_horizon::{NorHorizon, lifetime_s};
#[cfg(feature = "portable-atomic")]
pub use portable_word::PortableWord;
pub use randflake_core;
