//! What a token may be used for.

use clap::ValueEnum;

/// A right, in the namespaces of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Make new ids of a namespace
    Ids,
    /// Leases: acquire, renew, release, list
    Leases,
    /// The fields of ids
    Inspect,
    /// The page, metrics, and who holds what in all of the token's namespaces
    Admin,
}

impl Scope {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Leases => "leases",
            Self::Inspect => "inspect",
            Self::Admin => "admin",
        }
    }
}
