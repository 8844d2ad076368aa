//! What a token may be used for.

/// A right, in the namespaces of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
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
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Ids, Self::Leases, Self::Inspect, Self::Admin];

    /// Its name in the file of tokens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Leases => "leases",
            Self::Inspect => "inspect",
            Self::Admin => "admin",
        }
    }
}
