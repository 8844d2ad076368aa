//! The random number that names one acquire.

use core::fmt::{self, Display, Formatter};

/// A random 128-bit number that makes an acquire idempotent: it can be repeated when its reply was lost. It is not
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A new token from the operating system's random source.
    ///
    /// # Errors
    ///
    /// When the operating system has none.
    pub fn random() -> Result<Self, std::io::Error> {
        // Copies of a machine may draw the same token. The nonces of their writes differ, because
        // fresh nonces include the clocks.
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The token with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Bytes of the token.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}
