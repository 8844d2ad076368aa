//! TLS: a client that sends any bytes, certificates, and their renewal.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use harness::certificates::{Authority, Certified, HOST};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::clients::redis_cli;
use crate::server::LIMIT;
use crate::server::{Home, Server, wait_until};

pub(crate) struct Encrypted(StreamOwned<ClientConnection, TcpStream>);

impl Encrypted {
    /// Connects to an address as a client that trusts an authority, with a certificate of its own
    /// or none.
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

/// What a client says that trusts an authority, and has a certificate or none.
fn ask(server: &Server, trusted: &Authority, own: Option<&Certified>, words: &[&str]) -> String {
    let mut command: Command = redis_cli(server.port());
    command
        .args(["--tls", "-h", HOST, "--sni", HOST, "--cacert"])
        .arg(trusted.file());
    if let Some(own) = own {
        command
            .arg("--cert")
            .arg(&own.certificate)
            .arg("--key")
            .arg(&own.key);
    }
    let output = command.args(words).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    String::from_utf8(told).unwrap().trim().to_owned()
}

/// Puts the certificate where the server looks.
pub(crate) fn install(home: &Home, certified: &Certified) {
    fs::copy(&certified.key, home.path("server.key")).unwrap();
    fs::copy(&certified.certificate, home.path("server.pem")).unwrap();
}

/// A server with a certificate of an authority, and more arguments.
fn serve_encrypted(authority: &Authority, more: &str) -> Server {
    let home = Home::new();
    install(&home, &authority.server());
    let arguments = format!("--tls-cert server.pem --tls-key server.key {more}");
    let words: Vec<_> = arguments.split_whitespace().collect();
    Server::start_with(home, &words)
}

#[test]
fn certificates_are_read_again() {
    let [first, second] = [Authority::new(), Authority::new()];
    let server = serve_encrypted(&first, "");
    assert_eq!(ask(&server, &first, None, &["PING"]), "PONG");
    assert_ne!(ask(&server, &second, None, &["PING"]), "PONG");
    // Without encryption nobody is answered.
    let mut plain = server.connect();
    plain.send(b"PING\r\n");
    assert!(!plain.rest().contains("PONG"));

    install(server.home(), &second.server());
    server.signal(libc::SIGHUP);
    wait_until("the old certificate is still used", || {
        ask(&server, &second, None, &["PING"]) == "PONG"
    });
    assert_ne!(ask(&server, &first, None, &["PING"]), "PONG");

    server.home().write("server.pem", "nothing");
    server.signal(libc::SIGHUP);
    server.home().wait_for("the certificates stay as they were");
    let certificate = first.server().certificate;
    for (place, problem) in [
        (
            "server.pem",
            "the private key of --tls-key is not this certificate's: give both of one pair",
        ),
        ("server.key", "it has no private key in PEM"),
    ] {
        fs::copy(&certificate, server.home().path(place)).unwrap();
        server.signal(libc::SIGHUP);
        server.home().wait_for(problem);
    }
    assert_eq!(ask(&server, &second, None, &["PING"]), "PONG");
}

#[test]
fn clients_may_have_to_show_certificates() {
    let [servers, clients] = [Authority::new(), Authority::new()];
    let roots = clients.file();
    let server = serve_encrypted(&servers, &format!("--client-ca {}", roots.display()));
    assert_eq!(
        ask(&server, &servers, Some(&clients.client()), &["PING"]),
        "PONG"
    );
    assert_ne!(
        ask(&server, &servers, Some(&servers.client()), &["PING"]),
        "PONG"
    );
    server
        .home()
        .wait_for("its certificate is of no authority in the file of --client-ca");
    assert_ne!(ask(&server, &servers, None, &["PING"]), "PONG");
}

#[test]
fn why_a_client_s_certificate_is_refused_is_told() {
    let authority = Authority::new();
    let roots = authority.file();
    let server = serve_encrypted(&authority, &format!("--client-ca {}", roots.display()));
    let told = ask(
        &server,
        &authority,
        Some(&authority.server_alone()),
        &["PING"],
    );
    assert_ne!(told, "PONG");
    server
        .home()
        .wait_for("not for clients: its extended key usage has to have clientAuth");
}

#[test]
fn connections_of_a_removed_authority_end() {
    let [servers, former, next] = [Authority::new(), Authority::new(), Authority::new()];
    let home = Home::new();
    install(&home, &servers.server());
    let roots = |authorities: &[&Authority]| {
        let texts = authorities.iter().map(|own| fs::read_to_string(own.file()));
        texts.collect::<Result<String, _>>().unwrap()
    };
    home.write("clients.pem", &roots(&[&former]));
    let arguments = [
        "--tls-cert",
        "server.pem",
        "--tls-key",
        "server.key",
        "--client-ca",
        "clients.pem",
    ];
    let server = Server::start_with(home, &arguments);
    let address = format!("127.0.0.1:{}", server.port());
    let mut client = Encrypted::connect(&address, &servers, Some(&former.client()));
    assert_eq!(client.ask(b"PING\r\n"), "+PONG\\r\\n");

    // Both, while certificates are replaced.
    server
        .home()
        .write("clients.pem", &roots(&[&former, &next]));
    server.signal(libc::SIGHUP);
    let mut other = Encrypted::connect(&address, &servers, Some(&next.client()));
    wait_until("the next authority is not accepted", || {
        let accepted = other
            .try_ask(b"PING\r\n")
            .is_ok_and(|told| told.contains("PONG"));
        if !accepted {
            other = Encrypted::connect(&address, &servers, Some(&next.client()));
        }
        accepted
    });
    assert_eq!(client.ask(b"PING\r\n"), "+PONG\\r\\n");

    server.home().write("clients.pem", &roots(&[&next]));
    server.signal(libc::SIGHUP);
    wait_until("the connection is still open", || {
        !client
            .try_ask(b"PING\r\n")
            .is_ok_and(|told| told.contains("PONG"))
    });
    assert_eq!(other.ask(b"PING\r\n"), "+PONG\\r\\n");
}

/// The lines of the guides, as they stand; their certificates are for one of these names. A client
/// with rustls is the strictest.
#[test]
fn certificates_of_openssl_as_in_guides_are_served() {
    let guides = [
        include_str!("../../../../docs/serve.md"),
        include_str!("../../../../docs/deploy/README.md"),
    ];
    for guide in guides {
        let (_, rest) = guide.split_once("openssl req -x509 -newkey ").unwrap();
        let line: Vec<_> = rest.split_inclusive('\n').take(2).collect();
        // Its files, as the other guide calls them.
        let line = line
            .concat()
            .replace("tls.key", "server.key")
            .replace("tls.crt", "server.pem");
        let home = Home::new();
        let folder = home.path("");
        let openssl = |words: &str| {
            let openssl = harness::program("RANDFLAKE_OPENSSL");
            let command = format!("{} {words}", openssl.display());
            let mut shell = Command::new("sh");
            let output = shell.args(["-c", &command]).current_dir(&folder).output();
            assert!(output.as_ref().unwrap().status.success(), "{output:?}");
        };
        let made = |line: &str| openssl(&format!("req -x509 -newkey {line}"));
        made(&line);
        let more = [
            "--http",
            "127.0.0.1:0",
            "--tls-cert",
            "server.pem",
            "--tls-key",
            "server.key",
        ];
        let server = Server::start_with(home, &more);
        let home = server.home();
        let connect = || {
            let trusted = home.path("server.pem");
            Encrypted::connect_trusting(&server.http(), &trusted, None)
        };
        let request = b"GET /v1/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let answer = connect().ask(request);
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(
            !home.log().contains("clients will refuse it"),
            "{}",
            home.log()
        );
        // Without the option it is an authority's.
        made(&line.replace("-addext basicConstraints=critical,CA:FALSE", ""));
        server.signal(libc::SIGHUP);
        home.wait_for("the certificate is an authority's (CA:TRUE)");
        home.wait_for("new connections use the certificates");
        let error = connect().try_ask(request).unwrap_err().to_string();
        assert!(error.contains("CaUsedAsEndEntity"), "{error}");
        // As `x509` signs one without extensions.
        openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout server.key -out a.csr",
        );
        openssl("x509 -req -in a.csr -signkey server.key -out server.pem");
        server.signal(libc::SIGHUP);
        home.wait_for("server.pem: it is of X.509 version 1");
    }
}

#[test]
fn what_is_dubious_is_told() {
    let home = Home::new();
    let mut parameters = CertificateParams::new([HOST.to_owned()]).unwrap();
    parameters.not_after = date_time_ymd(2021, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    home.write("server.pem", &certificate.pem());
    home.write("server.key", &key.serialize_pem());
    fs::set_permissions(home.path("server.key"), Permissions::from_mode(0o644)).unwrap();
    let server = Server::start_with(
        home,
        &["--tls-cert", "server.pem", "--tls-key", "server.key"],
    );
    server
        .home()
        .wait_for("server.key: everybody on this machine may read it");
    let mut parameters = CertificateParams::new([HOST.to_owned()]).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.self_signed(&key).unwrap();
    server.home().write("server.pem", &certificate.pem());
    for told in [
        "server.pem: the certificate is not for servers: its extended key usage has to have serverAuth: clients will",
        "server.pem: the certificate expired at 2021-01-01T00:00:00Z: clients will refuse it",
        "server.key: everybody on this machine may read it",
    ] {
        server.home().wait_for(told);
    }
}
