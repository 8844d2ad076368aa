//! Encrypted connections: certificates that are read again when they change.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use randflake_std::date::utc;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, Error, OtherError, RootCertStore, ServerConfig};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::lock::lock;
use crate::watched::Watched;
use randflake_common::failure::{Failure, say};

/// Files of a server's certificate, in PEM. They are read again when they change.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those above it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities of clients: only clients with a certificate of these are accepted.
    pub client_ca: Option<PathBuf>,
}

/// The configuration of new connections.
pub(crate) struct Tls {
    certificate: Watched,
    key: Watched,
    client_ca: Option<Watched>,
    state: watch::Sender<TlsState>,
    /// When it was last said why a client was refused.
    said_at: Mutex<Option<Instant>>,
}

/// So many seconds are between two lines about refused clients: anybody may connect, and as often
/// as they like.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// What the files said when they were read last.
#[derive(Clone)]
struct TlsState {
    acceptor: TlsAcceptor,
    /// Which clients are accepted; `None` without `--client-ca`.
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

impl Tls {
    pub(crate) fn read(files: &TlsFiles) -> Result<Arc<Self>, Failure> {
        let certificate = Watched::new(files.certificate.clone());
        let key = Watched::new(files.key.clone());
        let client_ca = files.client_ca.clone().map(Watched::new);
        let state = configure(&certificate, &key, client_ca.as_ref())?;
        Ok(Arc::new(Self {
            certificate,
            key,
            client_ca,
            state: watch::Sender::new(state),
            said_at: Mutex::default(),
        }))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        // A connection keeps the configuration that it began with; `refused` looks at its client
        // again.
        self.state.borrow().acceptor.clone()
    }

    /// Reads the files again if one has changed, or in any case. What was in use stays in use if
    /// they are wrong.
    pub(crate) fn reload(&self, always: bool) -> Result<bool, Failure> {
        let files = [
            Some(&self.certificate),
            Some(&self.key),
            self.client_ca.as_ref(),
        ];
        // All three together: a certificate and a key that are not each other's must never be in
        // use, and while one of them is replaced that is an error, after which the old ones stay.
        if !always && !files.into_iter().flatten().any(Watched::has_changed) {
            return Ok(false);
        }
        let read = configure(&self.certificate, &self.key, self.client_ca.as_ref())?;
        self.state.send_replace(read);
        Ok(true)
    }

    /// Says why a client was refused for its certificate: the client learns only that it was.
    pub(super) fn tell(&self, peer: SocketAddr, error: &io::Error) {
        let Some(reason) = refusal(error) else {
            return;
        };
        let mut said_at = lock(&self.said_at);
        if said_at.is_none_or(|said_at| said_at.elapsed() >= BETWEEN_LINES) {
            *said_at = Some(Instant::now());
            say(&format!("refused the client at {peer}: {reason}"));
        }
    }

    /// Returns once a client's certificate is no longer accepted, because the file of authorities
    /// has changed. Otherwise a client whose authority was removed would go on for as long as it
    /// keeps its connection.
    pub(super) async fn refused(&self, chain: &[CertificateDer<'_>]) {
        // Who has shown none was accepted without: there is no such file.
        let Some((own, above)) = chain.split_first() else {
            return core::future::pending().await;
        };
        let mut reads = self.state.subscribe();
        loop {
            // Marked as seen before it is used: a file that is read meanwhile wakes the loop again.
            let clients = reads.borrow_and_update().clients.clone();
            let is_refused = clients.is_some_and(|clients| {
                let accepted = clients.verify_client_cert(own, above, UnixTime::now());
                accepted.is_err()
            });
            // The sender is this one's own.
            if is_refused || reads.changed().await.is_err() {
                return;
            }
        }
    }
}

fn configure(
    certificate: &Watched,
    key: &Watched,
    client_ca: Option<&Watched>,
) -> Result<TlsState, Failure> {
    let chain = certificates(certificate, "the certificate")?;
    // Used all the same: who renews it in time is not served by a server that refuses to start, and
    // clients decide.
    if let Some(problem) = chain.first().and_then(unfit) {
        say(&format!(
            "warning: {}: clients will refuse it",
            certificate.wrong(&problem)
        ));
    }
    let text = key.read("the private key").map_err(Failure::failed)?;
    key.warn_if_readable("the private key");
    let private = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|error| match error {
            pem::Error::NoItemsFound => key.wrong(
                "it has no private key in PEM (-----BEGIN PRIVATE KEY-----): was another file given to --tls-key?",
            ),
            error => key.wrong(&format!("no private key in PEM: {error}")),
        })?;
    // A provider of its own: the process-wide one is chosen by the program that embeds the library.
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Failure::failed)?;
    let clients = client_ca.map(|file| verifier(file, provider)).transpose()?;
    let builder = match &clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(Arc::clone(clients)),
    };
    let config = builder.with_single_cert(chain, private).map_err(|error| {
        certificate.wrong(&match error {
            Error::InconsistentKeys(_) => {
                "the private key of --tls-key is not this certificate's: give both of one pair"
                    .to_owned()
            }
            Error::InvalidCertificate(error) if is_named(&error, "UnsupportedCertVersion") => {
                "it is of X.509 version 1, which clients refuse: make one of version 3, with a \
                 subjectAltName"
                    .to_owned()
            }
            error => format!("the certificate and its private key cannot be used: {error}"),
        })
    })?;
    Ok(TlsState {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        clients,
    })
}

/// Accepts clients with a certificate of the authorities in a file.
fn verifier(
    file: &Watched,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Failure> {
    let mut roots = RootCertStore::empty();
    for root in certificates(file, "the authorities of clients")? {
        roots
            .add(root)
            .map_err(|error| file.wrong(&error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.map_err(Failure::failed)
}

/// Why no client accepts a certificate: its dates or its usage. Without roots nothing is trusted,
/// but these are looked at first.
fn unfit(certificate: &CertificateDer<'static>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let roots = RootCertStore::empty();
    let algorithms = default_provider().signature_verification_algorithms.all;
    let now = UnixTime::now();
    let checked = verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], now, algorithms);
    let date = |time: UnixTime| utc(Duration::from_secs(time.as_secs()));
    match checked {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Some(format!("the certificate expired at {}", date(not_after)))
        }
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext {
            not_before, ..
        })) => Some(format!(
            "the certificate is not valid before {}",
            date(not_before)
        )),
        Err(Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        )) => Some(
            "the certificate is not for servers: its extended key usage has to have serverAuth"
                .to_owned(),
        ),
        Err(Error::InvalidCertificate(error)) if is_named(&error, "CaUsedAsEndEntity") => Some(
            "the certificate is an authority's (CA:TRUE), which only some clients take for a \
             server's: make one with CA:FALSE (openssl req -x509 -addext basicConstraints=critical,CA:FALSE)"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether it is the error of that name: the library has no kind for some, and only their names are
/// told.
fn is_named(error: &CertificateError, name: &str) -> bool {
    matches!(error, CertificateError::Other(OtherError(other)) if other.to_string() == name)
}

/// What is wrong with a client's certificate, if that is why its handshake failed.
fn refusal(error: &io::Error) -> Option<String> {
    let message = match error.get_ref()?.downcast_ref()? {
        Error::NoCertificatesPresented => "it sent no certificate, which --client-ca asks for",
        Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "its certificate is not for clients: its extended key usage has to have clientAuth",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is of no authority in the file of --client-ca"
        }
        Error::InvalidCertificate(error) if is_named(error, "CaUsedAsEndEntity") => {
            "its certificate is an authority's (CA:TRUE): it needs one with CA:FALSE"
        }
        Error::InvalidCertificate(other) => return Some(format!("its certificate: {other}")),
        // Not for its certificate: a port scan or a client without TLS, which an operator can do
        // nothing about.
        _ => return None,
    };
    Some(message.to_owned())
}

fn certificates(file: &Watched, what: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let text = file.read(what).map_err(Failure::failed)?;
    let certificates = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| file.wrong(&format!("no certificate in PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(file.wrong("it has no certificate in PEM (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(certificates)
}
