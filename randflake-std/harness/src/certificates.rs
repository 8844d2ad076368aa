//! An authority of a test's own, and what it certifies.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use tempfile::TempDir;

use super::unprivileged::Unprivileged;

/// What servers are called. They listen on 127.0.0.1, which no certificate is for.
pub const HOST: &str = "localhost";
/// Leads to the same servers, and is no loopback address. Their certificate is for it too.
pub const REMOTE: &str = "0.0.0.0";

pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// Files of a certificate and its key.
pub struct Certified {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// etcd's gateway is a client of its own server, with the server's certificate.
const BOTH: [ExtendedKeyUsagePurpose; 2] = [
    ExtendedKeyUsagePurpose::ServerAuth,
    ExtendedKeyUsagePurpose::ClientAuth,
];

impl Authority {
    pub fn new() -> Self {
        let mut parameters = CertificateParams::default();
        let folder = TempDir::new().unwrap();
        // Not that of another one.
        let name = folder.path().to_string_lossy();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let key_file = folder.path().join("ca.key");
        fs::write(key_file, key.serialize_pem()).unwrap();
        let issuer = CertifiedIssuer::self_signed(parameters, key).unwrap();
        // Servers that are not root's read from it.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    /// The file of its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Its own certificate and key, which no server should use.
    pub fn own(&self) -> Certified {
        Certified {
            certificate: self.file(),
            key: self.folder.path().join("ca.key"),
        }
    }

    /// For a server of that name.
    pub fn server(&self) -> Certified {
        self.certify("server", vec![HOST.to_owned(), REMOTE.to_owned()], &BOTH)
    }

    pub fn client(&self) -> Certified {
        self.certify("client", Vec::new(), &BOTH)
    }

    /// Not to be used by a client.
    pub fn server_alone(&self) -> Certified {
        self.certify("alone", vec![HOST.to_owned()], &BOTH[..1])
    }

    fn certify(
        &self,
        name: &str,
        hosts: Vec<String>,
        usages: &[ExtendedKeyUsagePurpose],
    ) -> Certified {
        let mut parameters = CertificateParams::new(hosts).unwrap();
        parameters.extended_key_usages = usages.to_vec();
        let pair = KeyPair::generate().unwrap();
        let signed = parameters.signed_by(&pair, &self.issuer).unwrap();
        let [certificate, key] =
            ["crt", "key"].map(|kind| self.folder.path().join(format!("{name}.{kind}")));
        fs::write(&certificate, signed.pem()).unwrap();
        fs::write(&key, pair.serialize_pem()).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        if let Some(user) = Unprivileged::needed() {
            chown(&key, Some(user.uid), Some(user.gid)).unwrap();
        }
        Certified { certificate, key }
    }
}
