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
#[cfg(any(feature = "etcd-tls", feature = "postgres-tls", feature = "mysql-tls"))]
mod trusted;

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

#[cfg(any(
    feature = "redis-tls",
    feature = "etcd-tls",
    feature = "postgres-tls",
    feature = "mysql-tls"
))]
pub(super) use self::refusal::refusal;
use super::StoreError;

/// Of the authorities that the server's certificate may come from; the client's certificate; its key.
const FILES: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

/// What a URL asks for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Its `sslmode`, if it has one.
    is_encrypted: Option<bool>,
    files: Files,
}

/// The files of certificates that a URL names, by its parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Vec<(&'static str, PathBuf)>);

/// Takes what a URL says of encryption out of it, and leaves what the client's crate understands.
pub(super) fn taken_from(url: &str) -> Result<(String, Asked), StoreError> {
    let mut asked = Asked::default();
    let Some((base, query)) = url.rsplit_once('?') else {
        return Ok((url.to_owned(), asked));
    };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name == "sslmode" {
            asked.is_encrypted = Some(match value {
                // Whatever is encrypted is verified too.
                "require" | "verify-full" => true,
                "disable" => false,
                _ => {
                    return Err(refused(
                        "has an sslmode that is not known: take verify-full or disable",
                    ));
                }
            });
        } else if let Some(name) = FILES.into_iter().find(|known| *known == name) {
            let path = percent_decode_str(value).decode_utf8();
            let path = path.map_err(|_| refused(&format!("names {name} in no UTF-8")))?;
            asked.files.0.push((name, path.into_owned().into()));
        } else {
            others.push(parameter);
        }
    }
    if others.is_empty() {
        return Ok((base.to_owned(), asked));
    }
    Ok((format!("{base}?{}", others.join("&")), asked))
}

impl Asked {
    /// The files for an encrypted connection; none for a plain one. Which it is, the URL's scheme says for
    /// some stores, its `sslmode` for the others.
    pub(super) fn files(self, by_scheme: Option<bool>) -> Result<Option<Files>, StoreError> {
        let (is_encrypted, remedy) = match (by_scheme, self.is_encrypted) {
            (Some(_), Some(_)) => {
                return Err(refused(
                    "has an sslmode: for this store, rediss:// or etcds:// says that it is to encrypt",
                ));
            }
            (Some(is_encrypted), None) => (is_encrypted, "rediss:// or etcds://"),
            (None, is_encrypted) => (is_encrypted.unwrap_or(false), "sslmode=verify-full"),
        };
        match self.files.0.first() {
            Some((name, _)) if !is_encrypted => Err(refused(&format!(
                "names {name}, which a connection without encryption does not look at: take {remedy}"
            ))),
            _ => Ok(is_encrypted.then_some(self.files)),
        }
    }
}

/// The URL may hold a password: the reason names parameters alone.
fn refused(why: &str) -> StoreError {
    StoreError::Invalid(format!("the lease store's URL {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(url: &str) -> (String, Result<Option<Files>, StoreError>) {
        let (url, asked) = taken_from(url).unwrap();
        (url, asked.files(None))
    }

    #[test]
    fn what_is_not_of_encryption_stays() {
        for url in [
            "mysql://me:p?w@host/ids",
            "redis://host",
            "postgres://me@host/ids?connect_timeout=1&x",
        ] {
            assert_eq!(taken_from(url).unwrap().0, url);
        }
        let (url, files) = taken(
            "postgres://me:p?w@host/ids?sslmode=verify-full&connect_timeout=1&sslrootcert=/a%20b",
        );
        assert_eq!(url, "postgres://me:p?w@host/ids?connect_timeout=1");
        assert_eq!(
            files.unwrap().unwrap().0,
            [("sslrootcert", PathBuf::from("/a b"))]
        );
        let (url, files) = taken("mysql://host/ids?sslmode=disable");
        assert_eq!(url, "mysql://host/ids");
        assert!(files.unwrap().is_none());
    }

    #[test]
    fn what_would_not_protect_is_refused() {
        let error = taken_from("postgres://host/ids?sslmode=prefer").unwrap_err();
        assert!(error.to_string().contains("verify-full"), "{error}");
        let (_, files) = taken("postgres://host/ids?sslrootcert=/ca.pem");
        let error = files.unwrap_err();
        assert!(error.to_string().contains("sslrootcert"), "{error}");
        assert!(!error.to_string().contains("ca.pem"), "{error}");
        let (_, asked) = taken_from("redis://host?sslmode=require").unwrap();
        let error = asked.files(Some(false)).unwrap_err();
        assert!(error.to_string().contains("rediss://"), "{error}");
    }
}
