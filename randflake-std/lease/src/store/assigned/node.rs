//! Sources of an assigned node id.

use core::str::FromStr;
use std::env;

use crate::types::holder::host_name;
use crate::types::{Namespace, StoreError};

/// The variable that [`NodeIdSource::Variable`] reads: `RANDFLAKE_NODE_ID`.
pub const NODE_ID_VARIABLE: &str = "RANDFLAKE_NODE_ID";
/// Set by a pod's manifest, from the field `metadata.name`.
const POD_NAME_VARIABLE: &str = "POD_NAME";

/// Where the node id of a [`StaticStore`](crate::StaticStore) comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeIdSource {
    /// The configuration: this number.
    Given(u32),
    /// The variable [`RANDFLAKE_NODE_ID`](NODE_ID_VARIABLE), in decimal.
    Variable,
    /// The ordinal of a pod in a Kubernetes `StatefulSet`: the number behind the last `-` of the
    /// variable `POD_NAME`, or of the host's name if that is not set. A pod of a `Deployment` has
    /// no ordinal, and is refused unless its random suffix looks like one: do not use it there.
    Pod,
}

impl NodeIdSource {
    pub(super) fn node_id(self, namespace: &Namespace) -> Result<u32, StoreError> {
        let node_id = match self {
            Self::Given(node_id) => node_id,
            Self::Variable => from_variable(env::var(NODE_ID_VARIABLE).ok())?,
            Self::Pod => ordinal(&env::var(POD_NAME_VARIABLE).unwrap_or_else(|_| host_name()))?,
        };
        let max = namespace.spec().max_node_id();
        if node_id > max {
            return Err(StoreError::Invalid(format!(
                "node id {node_id} is out of range: 0 to {max} are allowed"
            )));
        }
        Ok(node_id)
    }
}

/// As a store's URL has it: a number, `env` or `pod`.
impl FromStr for NodeIdSource {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        match text {
            "env" => Ok(Self::Variable),
            "pod" => Ok(Self::Pod),
            _ => decimal(text).map(Self::Given).ok_or_else(|| {
                StoreError::Invalid("`node` is a decimal number, `env` or `pod`".to_owned())
            }),
        }
    }
}

fn from_variable(value: Option<String>) -> Result<u32, StoreError> {
    let refused =
        |why| StoreError::Invalid(format!("{NODE_ID_VARIABLE} {why}: set it to a number"));
    let value = value.ok_or_else(|| refused("is not set"))?;
    decimal(&value).ok_or_else(|| refused("is not a decimal number"))
}

fn ordinal(name: &str) -> Result<u32, StoreError> {
    let suffix = name.rsplit_once('-').map(|(_, suffix)| suffix);
    suffix.and_then(decimal).ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        StoreError::Invalid(format!(
            "the pod's name {name:?} does not end in an ordinal, as in \"web-3\": only pods of a \
             StatefulSet have one"
        ))
    })
}

/// Digits without sign and leading zeros.
fn decimal(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    // Not one that is spelled differently.
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        for (text, number) in [("0", 0), ("7", 7), ("10", 10), ("4294967295", u32::MAX)] {
            assert_eq!(decimal(text), Some(number));
        }
        for text in ["", "00", "07", "+7", "-7", "7 ", "x", "4294967296"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_variable_has_the_node_id() {
        assert_eq!(from_variable(Some("12".to_owned())).unwrap(), 12);
        for (value, said) in [
            (None, "RANDFLAKE_NODE_ID is not set: set it to a number"),
            (
                Some("x"),
                "RANDFLAKE_NODE_ID is not a decimal number: set it to a number",
            ),
        ] {
            let refused = from_variable(value.map(str::to_owned)).unwrap_err();
            assert_eq!(refused.to_string(), said);
        }
    }

    #[test]
    fn a_pod_s_name_ends_in_the_node_id() {
        assert_eq!(ordinal("web-db-12").unwrap(), 12);
        for name in ["web", "web-", "web-a", "12"] {
            assert!(ordinal(name).is_err(), "{name}");
        }
    }
}
