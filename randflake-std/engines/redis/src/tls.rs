//! Encrypted connections to Redis, by rustls.

#[cfg(not(feature = "tls"))]
pub(crate) use disabled::Encryption;
#[cfg(feature = "tls")]
pub(crate) use enabled::Encryption;

#[cfg(feature = "tls")]
mod enabled {
    use std::io;
    use std::sync::Arc;

    use randflake_lease::EngineError;
    use randflake_lease::unstable::tls::Files;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, StreamOwned};

    use crate::transport::{Socket, Stream};

    /// How connections are encrypted.
    #[derive(Clone, Debug)]
    pub(crate) struct Encryption(Arc<ClientConfig>);

    impl Encryption {
        pub(crate) fn new(files: &Files) -> Result<Self, EngineError> {
            Ok(Self(Arc::new(files.client_config()?)))
        }

        /// A stream over a socket. The handshake is part of the first command.
        pub(crate) fn over(&self, socket: Socket, host: &str) -> io::Result<Box<dyn Stream>> {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let session =
                ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
            Ok(Box::new(StreamOwned::new(session, socket)))
        }
    }

    impl Stream for StreamOwned<ClientConnection, Socket> {
        fn socket(&mut self) -> &mut Socket {
            &mut self.sock
        }
    }
}

#[cfg(not(feature = "tls"))]
mod disabled {
    use std::io;

    use randflake_lease::EngineError;
    use randflake_lease::unstable::tls::{Files, without_tls};

    use crate::transport::{Socket, Stream};

    /// Has no value: a build without encryption makes none.
    #[derive(Clone, Debug)]
    pub(crate) enum Encryption {}

    impl Encryption {
        pub(crate) fn new(_: &Files) -> Result<Self, EngineError> {
            Err(without_tls())
        }

        pub(crate) fn over(&self, _: Socket, _: &str) -> io::Result<Box<dyn Stream>> {
            match *self {}
        }
    }
}
