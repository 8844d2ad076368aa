//! A client of TLS that sends any bytes.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use harness::certificates::{Authority, Certified, HOST};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::LIMIT;

pub(crate) struct Encrypted(StreamOwned<ClientConnection, TcpStream>);

impl Encrypted {
    /// Connects to an address as a client that trusts an authority, with a certificate of its own or none.
    pub(crate) fn connect(address: &str, trusted: &Authority, own: Option<&Certified>) -> Self {
        Self::connect_trusting(address, &trusted.file(), own)
    }

    /// As a client that trusts the certificate in a file.
    pub(crate) fn connect_trusting(address: &str, trusted: &Path, own: Option<&Certified>) -> Self {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(trusted).unwrap();
        roots.add(authority).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let chain = CertificateDer::from_pem_slice(&fs::read(&own.certificate).unwrap());
                let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
                let config = builder.with_client_auth_cert(vec![chain.unwrap()], key);
                config.unwrap()
            }
        };
        let name = ServerName::try_from(HOST).unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(StreamOwned::new(connection, stream))
    }

    /// Sends bytes, and returns what comes next.
    pub(crate) fn ask(&mut self, bytes: &[u8]) -> String {
        self.try_ask(bytes).unwrap()
    }

    /// The same; an error or nothing if the server has closed the connection.
    pub(crate) fn try_ask(&mut self, bytes: &[u8]) -> io::Result<String> {
        self.0.write_all(bytes)?;
        let mut answer = vec![0; 4_096];
        let length = self.0.read(&mut answer)?;
        Ok(answer[..length].escape_ascii().to_string())
    }
}
