//! Servers that take encrypted connections.

use core::net::Ipv4Addr;
use std::net::TcpStream;

use super::certificates::Authority;
use super::free_port;
use super::mariadb::MariadbServer;
use super::postgres::PostgresServer;
use super::redis::RedisServer;

impl PostgresServer {
    /// One that takes encrypted connections too.
    pub fn start_encrypted(authority: &Authority) -> Self {
        let own = authority.server();
        let (ca, certificate, key) = (authority.file(), &own.certificate, &own.key);
        Self::start_with(&[
            "ssl=on",
            &format!("ssl_ca_file={}", ca.display()),
            &format!("ssl_cert_file={}", certificate.display()),
            &format!("ssl_key_file={}", key.display()),
        ])
    }
}

impl MariadbServer {
    /// One that takes encrypted connections too.
    pub fn start_encrypted(authority: &Authority) -> Self {
        let own = authority.server();
        Self::start_with(&[
            &format!("--ssl-ca={}", authority.file().display()),
            &format!("--ssl-cert={}", own.certificate.display()),
            &format!("--ssl-key={}", own.key.display()),
        ])
    }
}

impl RedisServer {
    /// One that takes encrypted connections alone, of clients with a certificate of the authority; with
    /// further settings.
    pub fn start_encrypted(authority: &Authority, settings: &[&str]) -> Self {
        let (port, own) = (free_port(), authority.server());
        let port_word = port.to_string();
        let files = [authority.file(), own.certificate, own.key];
        let [ca, certificate, key] = files.each_ref().map(|file| file.to_str().unwrap());
        let encrypted = [
            ["--port", "0"],
            ["--tls-port", &port_word],
            ["--tls-ca-cert-file", ca],
            ["--tls-cert-file", certificate],
            ["--tls-key-file", key],
        ]
        .concat();
        let listens = move || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        Self::start_on(port, &[&encrypted, settings].concat(), &[], listens)
    }
}
