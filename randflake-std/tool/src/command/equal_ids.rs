//! Namespaces of a store that issue equal ids.

use randflake_std::lease::{KeyCheck, Namespace};

/// The names of the other namespaces whose ids may be equal to those of a namespace.
///
/// Those are all under the same secret, and plain ones of the same layout.
pub(crate) fn namespaces_with_equal_ids<'n>(
    namespace: &Namespace,
    key_check: Option<KeyCheck>,
    all: &'n [Namespace],
) -> Vec<&'n str> {
    let others = all
        .iter()
        // Without a check value nothing is known of the secret, and `None == None` would accuse all
        // of them.
        .filter(|other| other.name() != namespace.name() && key_check.is_some());
    let equal = others.filter(|other| {
        let is_same_layout = other.spec().fields() == namespace.spec().fields();
        // Under one secret two layouts may give equal ids as well: the cipher permutes all 64 bits.
        other.key_check() == key_check && (key_check != Some(KeyCheck::Plain) || is_same_layout)
    });
    equal.map(Namespace::name).collect()
}

/// Lists names for a message.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// Why ids may be equal, and what to do about it.
pub(crate) fn remedy(key_check: Option<KeyCheck>, name: &str) -> String {
    if key_check == Some(KeyCheck::Plain) {
        return "plain ids of one layout may be equal in both: that is right only where they never meet".to_owned();
    }
    format!(
        "both have one secret, so their ids may be equal: that is right only where they never meet; `randflake keygen \
         --derive {name}` makes a secret for one namespace"
    )
}
