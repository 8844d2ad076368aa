//! Namespaces of a store by its URL, for backends of the contract.

use randflake_std::lease::{self, Namespace};

pub(crate) fn names(url: &str) -> Vec<String> {
    lease::namespaces(url).unwrap().unwrap_or_default().names
}

pub(crate) fn find(url: &str, name: &str) -> Option<Namespace> {
    lease::find(url, name).unwrap()
}
