//! What the crates of this project share beyond their public interface. It may change with every release.

pub use crate::block::{Block, BlockBudget};
pub use crate::first_ready::first_ready_within;
pub use crate::generator::{Strict, Tolerance};
pub use crate::run::Run;
pub use crate::segment::buffer::SegmentBuffer;
pub use crate::segment::error::PutError;
pub use crate::segment::length::SegmentLength;
pub use crate::word::Word;
