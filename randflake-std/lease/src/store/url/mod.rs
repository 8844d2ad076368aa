//! URLs of stores: the engine's scheme, and what stands behind it. Parsed here once, for all engines.

mod ipv6;
mod location;
mod registration;
mod scheme;
mod text;

pub use self::ipv6::mistake_in_ipv6;
pub use self::location::{Address, Host, Location};
pub use self::registration::{ExistingEngine, Registration};
pub use self::scheme::{AddressKind, CERTIFICATES, ENCRYPTS_BY_MODE, Scheme};
pub use self::text::{number, refused};

/// The option of every URL that sets the longest TTL of a namespace. It is taken out of a URL before an engine sees it.
pub const MAX_TTL_OPTION: &str = "max_ttl";
