//! A connection, with TLS or without.

use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// One type for both, so that protocols are compiled once.
pub(crate) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The certificate that the client has shown, and those above it.
pub(super) fn client_certificates(stream: &Stream) -> Option<Vec<CertificateDer<'static>>> {
    let Either::Right(stream) = stream else {
        return None;
    };
    let (_, connection) = stream.get_ref();
    connection.peer_certificates().map(<[_]>::to_vec)
}
