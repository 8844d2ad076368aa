//! Which namespaces of a store issue equal ids.

use randflake_std::lease::{KeyCheck, Namespace};

/// The names of those whose ids may be equal to those of a namespace: under one secret, or plain and of one layout.
pub(crate) fn namespaces_with_equal_ids<'n>(
    namespace: &Namespace,
    seal: Option<KeyCheck>,
    all: &'n [Namespace],
) -> Vec<&'n str> {
    let others = all
        .iter()
        .filter(|other| other.name() != namespace.name() && seal.is_some());
    let equal = others.filter(|other| {
        let is_same_layout = other.spec().fields() == namespace.spec().fields();
        other.key_check() == seal && (seal != Some(KeyCheck::Plain) || is_same_layout)
    });
    equal.map(Namespace::name).collect()
}

/// Names as a message has them.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// Why that is so, and what to do about it.
pub(crate) fn remedy(seal: Option<KeyCheck>, name: &str) -> String {
    if seal == Some(KeyCheck::Plain) {
        return "plain ids of one layout may be equal in both: that is right only where they never meet".to_owned();
    }
    format!(
        "both have one secret, so their ids may be equal: that is right only where they never meet; `randflake keygen \
         --derive {name}` makes a secret for one namespace"
    )
}
