//! Restart safety without a lease store: a device records how far it may have got before it goes there.

mod asynchronous;
mod blocks;
mod log;
mod record;
mod retained;
mod store;
mod ticket_counter;

pub use asynchronous::AsyncHorizonStore;
pub use blocks::{Blocks, DEFAULT_BLOCK_S};
pub use log::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, LogGeometry, LogPage};
pub use record::HorizonRecord;
pub use retained::RetainedMemory;
pub use store::HorizonStore;
pub use ticket_counter::TicketCounter;
