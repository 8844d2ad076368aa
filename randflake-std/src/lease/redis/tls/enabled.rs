//! Encrypted connections.

use rustls::crypto::{CryptoProvider, ring};

use crate::lease::StoreError;

/// The client takes the cryptography that the process has chosen; so this chooses, if nobody has.
#[expect(clippy::unnecessary_wraps, reason = "its twin refuses")]
pub(in super::super) fn prepare() -> Result<(), StoreError> {
    if CryptoProvider::get_default().is_none() {
        let _chosen_meanwhile = ring::default_provider().install_default();
    }
    Ok(())
}
