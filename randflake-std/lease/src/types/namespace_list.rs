//! The namespaces that a store has.

/// Namespaces of a store, as [`Catalog::names`](crate::Catalog::names) lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespaceList {
    /// Names of the namespaces, in order.
    pub names: Vec<String>,
    /// Names that no namespace may have, of rows or keys that somebody else has written. Show them as `{:?}` does; do not
    /// use them.
    pub damaged: Vec<String>,
    /// Whether these are all. The list ends after 10,000.
    pub is_complete: bool,
}
