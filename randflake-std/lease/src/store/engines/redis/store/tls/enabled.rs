//! Encrypted connections to Redis.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::transport::{Socket, Stream};
use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

/// How connections are encrypted.
#[derive(Clone, Debug)]
pub(in super::super) struct Encryption(Arc<ClientConfig>);

impl Encryption {
    pub(in super::super) fn new(files: &Files) -> Result<Self, EngineError> {
        Ok(Self(Arc::new(files.client_config()?)))
    }

    /// A stream over a socket. The handshake is part of the first command.
    pub(in super::super) fn over(&self, socket: Socket, host: &str) -> io::Result<Box<dyn Stream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(session, socket)))
    }
}

impl Stream for StreamOwned<ClientConnection, Socket> {
    fn socket(&mut self) -> &mut Socket {
        &mut self.sock
    }
}
