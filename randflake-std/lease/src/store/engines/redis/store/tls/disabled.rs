//! A build without encryption.

use std::io;

use super::transport::{Socket, Stream};
use crate::store::encryption::{Files, without_tls};
use crate::vocabulary::EngineError;

/// Nothing makes one.
#[derive(Clone, Debug)]
pub(in super::super) enum Encryption {}

impl Encryption {
    pub(in super::super) fn new(_: &Files) -> Result<Self, EngineError> {
        Err(without_tls())
    }

    pub(in super::super) fn over(&self, _: Socket, _: &str) -> io::Result<Box<dyn Stream>> {
        match *self {}
    }
}
