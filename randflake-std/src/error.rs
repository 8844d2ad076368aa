//! Why a handle issued no id.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use randflake_core::GenerateError as Refusal;

/// Why a handle issued no id. Nothing was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenerateError {
    /// The generator refused.
    Refused(Refusal),
    /// This process is a forked child of the one that built the handle: it must build its own.
    InForkedChild,
    /// The [generation number](crate::Generation) has changed: another copy of this machine or process may have the
    /// same leases. The keeper is acquiring others.
    Copied,
}

impl GenerateError {
    /// How long to wait before another try can succeed, in milliseconds; `None` when waiting alone
    /// does not help.
    #[must_use]
    pub const fn retry_in_ms(self) -> Option<u64> {
        match self {
            Self::Refused(refusal) => refusal.retry_in_ms(),
            Self::InForkedChild | Self::Copied => None,
        }
    }
}

impl Display for GenerateError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => Display::fmt(refusal, f),
            Self::InForkedChild => f.write_str(
                "a forked child must not use its parent's leases: build a handle of its own",
            ),
            Self::Copied => f.write_str(
                "the generation number has changed, so a copy of this process may have the same leases: others \
                 are being acquired",
            ),
        }
    }
}

impl Error for GenerateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::InForkedChild | Self::Copied => None,
        }
    }
}
