//! `defmt::Format` of ids and leases; errors derive it.

use defmt::{Format, Formatter, write};

use crate::{Id, Kind, Lease};

/// Formats an id as its text.
impl<K: Kind> Format for Id<K> {
    fn format(&self, f: Formatter<'_>) {
        // Without `core::fmt`, which is large.
        let digits = self.untyped().to_text();
        match K::PREFIX {
            "" => write!(f, "{=str}", digits.as_str()),
            prefix => write!(f, "{=str}_{=str}", prefix, digits.as_str()),
        }
    }
}

impl<L> Format for Lease<L> {
    fn format(&self, f: Formatter<'_>) {
        let (node_id, start, end) = self.parts();
        write!(
            f,
            "node id {=u32}, ticks {=u64} to {=u64}",
            node_id, start, end
        );
    }
}
