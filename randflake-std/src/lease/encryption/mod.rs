//! What a store's URL says of encryption: in the words of PostgreSQL's own clients, the same for all
//! stores.

#[cfg(any(
    feature = "redis-tls",
    feature = "etcd-tls",
    feature = "postgres-tls",
    feature = "mysql-tls"
))]
mod files;
#[cfg(any(
    feature = "redis-tls",
    feature = "etcd-tls",
    feature = "postgres-tls",
    feature = "mysql-tls"
))]
mod refusal;
#[cfg(not(any(
    feature = "redis-tls",
    feature = "etcd-tls",
    feature = "postgres-tls",
    feature = "mysql-tls"
)))]
#[path = "no_refusal.rs"]
mod refusal;
#[cfg(any(feature = "etcd-tls", feature = "postgres-tls", feature = "mysql-tls"))]
mod trusted;

use std::path::{Path, PathBuf};

pub(super) use self::refusal::refusal;
use super::StoreError;
use super::url::Server;

/// Of the authorities that the server's certificate may come from; the client's certificate; its key.
const FILES: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

/// The files of certificates that a URL names, by its options.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Vec<(&'static str, PathBuf)>);

impl Files {
    /// The files for an encrypted connection; none for a plain one. Which it is, the URL's scheme says for
    /// some stores, its `sslmode` for the others.
    pub(super) fn asked_by(server: &Server) -> Result<Option<Self>, StoreError> {
        let is_encrypted = match server.option("sslmode") {
            None => server.scheme.is_encrypted,
            // Whatever is encrypted is verified too.
            Some("require" | "verify-full") => true,
            Some("disable") => false,
            Some(_) => {
                return Err(server.refused(
                    "has an sslmode that is not known: the allowed ones are verify-full and disable",
                ));
            }
        };
        let named = FILES
            .into_iter()
            .filter_map(|name| Some((name, PathBuf::from(server.option(name)?))));
        let files = Self(named.collect());
        match files.0.first() {
            Some((name, _)) if !is_encrypted => Err(server.refused(&format!(
                "names {name}, and its connection is not encrypted: encrypt it ({})",
                server.scheme.encrypts_by
            ))),
            _ if files.named("sslcert").is_some() != files.named("sslkey").is_some() => {
                Err(StoreError::Invalid(
                    "the lease store's URL names one of sslcert and sslkey: both are needed"
                        .to_owned(),
                ))
            }
            _ => Ok(is_encrypted.then_some(files)),
        }
    }

    fn named(&self, name: &str) -> Option<&Path> {
        let named = self.0.iter().find(|(known, _)| *known == name);
        named.map(|(_, path)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::url::Engine;

    fn asked(url: &str, engine: Engine) -> Result<Option<Files>, StoreError> {
        Files::asked_by(&Server::at(url, engine)?)
    }

    #[test]
    fn who_encrypts() {
        let url = "postgres://me@host/ids?sslmode=verify-full&sslrootcert=/a%20b";
        let files = asked(url, Engine::Postgres).unwrap();
        assert_eq!(files.unwrap().0, [("sslrootcert", PathBuf::from("/a b"))]);
        let is_encrypted = |url, engine| asked(url, engine).unwrap().is_some();
        assert!(is_encrypted(
            "mysql://host/ids?sslmode=require",
            Engine::Mysql
        ));
        assert!(!is_encrypted(
            "mysql://host/ids?sslmode=disable",
            Engine::Mysql
        ));
        assert!(is_encrypted("rediss://host", Engine::Redis));
        assert!(!is_encrypted("redis://host", Engine::Redis));
        assert!(is_encrypted("etcds://host", Engine::Etcd));
    }

    #[test]
    fn what_would_not_protect_is_refused() {
        for (url, engine, remedy) in [
            (
                "postgres://host/ids?sslmode=prefer",
                Engine::Postgres,
                "verify-full",
            ),
            (
                "postgres://host/ids?sslrootcert=ca.pem",
                Engine::Postgres,
                "sslmode=verify-full",
            ),
            (
                "redis://host?sslrootcert=ca.pem",
                Engine::Redis,
                "rediss://",
            ),
            ("redis://host?sslmode=require", Engine::Redis, "rediss://"),
            ("etcd://host?sslkey=ca.pem", Engine::Etcd, "etcds://"),
            (
                "mysql://host/ids?sslmode=verify-full&sslkey=ca.pem",
                Engine::Mysql,
                "both are needed",
            ),
        ] {
            let error = asked(url, engine).unwrap_err().to_string();
            assert!(error.contains(remedy), "{error}");
            assert!(
                !error.contains("prefer") && !error.contains("ca.pem"),
                "{error}"
            );
        }
    }
}
