//! Division by a constant, in the way that suits the processor.

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
mod native;
#[cfg(any(test, all(target_arch = "arm", not(target_has_atomic = "32"))))]
mod reciprocal;

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
pub(super) use native::Divisor;
#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
pub(super) use reciprocal::Divisor;
