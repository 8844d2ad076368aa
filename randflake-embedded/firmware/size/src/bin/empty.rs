//! The image without a call, which every other one is compared with.
#![no_std]
#![no_main]

size::image! { state: (), run: {} }
