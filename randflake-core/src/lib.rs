#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
// A release build wraps silently, and a wrapped position would repeat ids. So each place says what
// it means: wrapping, saturating or checked.
#![warn(clippy::arithmetic_side_effects)]

// What the macros of these write names it.
#[cfg(any(
    feature = "async-graphql",
    feature = "diesel-sqlite",
    feature = "postgres-types"
))]
extern crate std;

// Nothing but this and integrations allocates, and those bring crates that do.
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
extern crate alloc;

mod base;
mod block;
mod clock;
mod codec;
mod error;
mod feistel;
mod generator;
mod horizon;
mod id;
mod integrations;
mod lane;
mod layout;
mod lease;
mod permutation;
pub mod segment;
mod sequencer;
mod state;
mod tagged;
mod text;
mod ticket;
mod uuid;
mod word;

pub use base::{Base, BaseError, Digits};
#[cfg(target_has_atomic = "64")]
pub use clock::ManualClock;
pub use clock::{Clock, Monotonic, TimeBounds, UnixClock, Uptime};
pub use codec::{Codec, Parts};
pub use error::{
    DecodeError, ExtendError, FieldError, GenerateError, GenerateErrorKind, HorizonError,
    LayoutError, LeaseError, MakeTicketError, SetClockError, TicketError,
};
pub use feistel::Feistel53;
pub use generator::Generator;
use generator::{Strict, Tolerance};
pub use horizon::{
    AsyncHorizonStore, AsyncLogFlash, Blocks, DEFAULT_BLOCK_S, FlashHorizonError, HorizonLog,
    HorizonRecord, HorizonStore, LogFlash, LogGeometry, LogPage, RetainedMemory, TicketCounter,
};
pub use id::{Any, Any53, Bits53, Bits64, Id, Id53, IdError, Kind, StoredPlain, StoredRaw, Width};
#[cfg(feature = "serde")]
pub use integrations::serde;
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
pub use integrations::sqlite;
pub use lane::Lane;
pub use layout::*;
pub use lease::Lease;
pub use permutation::{Cipher, Permutation, Plain};
use sequencer::Run;
pub use sequencer::Sequencer;
pub use sparx64::{Sparx64, Sparx64OnTheFly};
pub use tagged::{KeyNumber, KeyNumberError, TagError, TagKey, TaggedUuid, TaggedUuidError};
pub use text::Text;
pub use ticket::{Ticket, TicketReader};
pub use uuid::UuidError;
use word::Word;
pub use word::{AtomicWord, ConstWord, LocalWord};

/// Items that the crates of this project share beyond the public interface. They may change with
/// every release.
// Hidden, unlike the module `unstable` of the leases: nobody writes a store or a board with these,
// which are halves of handles, segments and blocks. The types that have them are documented.
#[doc(hidden)]
pub mod internal {
    pub use crate::block::{Block, BlockBudget};
    pub use crate::generator::{Strict, Tolerance, first_ready_within};
    pub use crate::segment::buffer::{PutError, SegmentBuffer, SegmentLength};
    pub use crate::sequencer::Run;
    pub use crate::word::Word;
}
