//! Namespaces of a soak, the sources of its ids, and the raw numbers of ids.

use core::time::Duration;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use randflake_std::lease::Namespace;
use randflake_std::randflake_core::{Field, LayoutFields};
use randflake_std::{Feistel53, Layout, LayoutSpec, Permutation, Secret, Sparx64};

pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
const KEY53: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const TAGGED_KEY: &str = "5ca1ab1e0ddba11c0ffee0decade0fed";
pub(crate) const NAMESPACE: &str = "soak";
const NAMESPACE53: &str = "soak-53-bits";
pub(crate) const TAGGED_NAMESPACE: &str = "soak-tagged";
/// [`Dense`] for `randflake serve`.
pub(crate) const LAYOUT: &str = "encrypted:custom:40,7,17@1730000000000/1000";

/// So few node ids that those of others soon come into use again, and as many ids in each tick as a layout of seconds has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dense;

impl Layout for Dense {
    type Permutation = Sparx64;
    const SPEC: LayoutSpec = spec(40, 17);
}

/// The same within 53 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dense53;

impl Layout for Dense53 {
    type Permutation = Feistel53;
    const SPEC: LayoutSpec = spec(32, 14);
}

const NODE_BITS: u32 = 7;

const fn spec(timestamp: u32, sequence: u32) -> LayoutSpec {
    LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: timestamp,
            shift: NODE_BITS + sequence,
        },
        node_id: Field {
            bits: NODE_BITS,
            shift: sequence,
        },
        sequence: Field {
            bits: sequence,
            shift: 0,
        },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1_000,
    })
}

/// Where ids come from. After each fault every source has to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Bulk,
    OneByOne,
    Ahead,
    Bits53,
    Tagged,
    Counter,
    Incr,
    Multi,
    Http,
}

pub(crate) const SOURCES: [(Source, &str); 9] = [
    (Source::Bulk, "in bulk"),
    (Source::OneByOne, "by a call each"),
    (Source::Ahead, "ahead of the clock (tolerance)"),
    (Source::Bits53, "of 53 bits"),
    (Source::Tagged, "tagged UUIDs"),
    (Source::Counter, "numbers of a counter"),
    (Source::Incr, "`INCR` of `serve`"),
    (Source::Multi, "`MULTI` of `serve`"),
    (Source::Http, "HTTP of `serve`"),
];

/// Ids of one space differ; those of two may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Ids,
    Ids53,
    Tagged,
    Numbers,
}

pub(crate) const SPACES: [Space; 4] = [Space::Ids, Space::Ids53, Space::Tagged, Space::Numbers];

impl Source {
    pub(crate) const fn space(self) -> Space {
        match self {
            Self::Bulk | Self::OneByOne | Self::Ahead | Self::Incr | Self::Multi | Self::Http => {
                Space::Ids
            }
            Self::Bits53 => Space::Ids53,
            Self::Tagged => Space::Tagged,
            Self::Counter => Space::Numbers,
        }
    }
}

impl Space {
    /// Decrypts ids in place.
    pub(crate) fn raw(self, ids: &mut [u64]) {
        match self {
            Self::Ids => secret(KEY).cipher().invert_all(ids),
            Self::Ids53 => secret53().feistel53().invert_all(ids),
            Self::Tagged => secret(TAGGED_KEY).cipher().invert_all(ids),
            Self::Numbers => {}
        }
    }

    /// Fields of a raw id.
    pub(crate) fn describe(self, raw: u64) -> String {
        let spec = match self {
            Self::Ids | Self::Tagged => Dense::SPEC,
            Self::Ids53 => Dense53::SPEC,
            Self::Numbers => return format!("number {raw}"),
        };
        let field = |field: Field| raw >> field.shift & ((1 << field.bits) - 1);
        let fields = spec.fields();
        format!(
            "{self:?}: node id {}, tick {}, sequence {}",
            field(fields.node_id),
            field(fields.timestamp),
            field(fields.sequence)
        )
    }
}

fn secret(key: &str) -> Secret {
    Secret::from_hex(key).unwrap()
}

/// The secret of the namespace of ids of 64 bits.
pub(crate) fn secret64() -> Secret {
    secret(KEY)
}

pub(crate) fn secret53() -> Secret {
    secret(KEY53)
}

/// Leases of at most `ttl`, so that what a store may have forgotten is soon over.
pub(crate) fn namespace(ttl: Duration) -> Namespace {
    Namespace::new(NAMESPACE, Dense).unwrap().with_max_ttl(ttl)
}

pub(crate) fn namespace53(ttl: Duration) -> Namespace {
    let namespace = Namespace::new(NAMESPACE53, Dense53).unwrap();
    namespace.with_max_ttl(ttl)
}

pub(crate) fn tagged_namespace(ttl: Duration) -> Namespace {
    let namespace = Namespace::new(TAGGED_NAMESPACE, Dense).unwrap();
    namespace.with_max_ttl(ttl)
}

pub(crate) fn namespaces(ttl: Duration) -> [Namespace; 3] {
    [namespace(ttl), namespace53(ttl), tagged_namespace(ttl)]
}

/// Makes a directory with the key of tagged UUIDs.
pub(crate) fn write_tagged_key(directory: &Path) {
    DirBuilder::new().mode(0o700).create(directory).unwrap();
    let secret = secret(TAGGED_KEY);
    secret.write_new(directory.join("1.key")).unwrap();
}
