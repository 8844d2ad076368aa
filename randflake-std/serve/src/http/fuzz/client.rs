//! Clients of the fuzzed server, with their rights.

/// The namespace that all tokens see but one.
pub(super) const SEEN: &str = "orders";
/// The namespace that one token sees.
pub(super) const HIDDEN: &str = "hidden";
/// Tokens: who has it, what for, and where. Two more clients have an unknown one and none.
pub(super) const TOKENS: [(&str, &str, &str); 5] = [
    ("ids", "ids", SEEN),
    ("leases", "leases", SEEN),
    ("inspect", "inspect", SEEN),
    ("admin", "admin", SEEN),
    ("all", "ids,leases,inspect,admin", "*"),
];
const UNKNOWN: &str = "unknown";

/// Identity that a request is made with.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) token: Option<&'static str>,
    scopes: &'static str,
    pub(super) sees_all: bool,
}

impl Client {
    pub(super) fn of(digit: u8) -> Option<Self> {
        let nobody = |token| Self {
            token,
            scopes: "",
            sees_all: false,
        };
        let number = usize::from(digit.checked_sub(b'0')?);
        Some(match (number, TOKENS.get(number)) {
            (_, Some(&(name, scopes, namespaces))) => Self {
                token: Some(name),
                scopes,
                sees_all: namespaces == "*",
            },
            (5, None) => nobody(Some(UNKNOWN)),
            (6, None) => nobody(None),
            _ => return None,
        })
    }

    pub(super) fn has(self, scope: &str) -> bool {
        self.scopes.split(',').any(|own| own == scope)
    }

    pub(super) fn sees(self, namespace: &str) -> bool {
        namespace == SEEN || self.sees_all && namespace == HIDDEN
    }
}
