//! What `defmt` shows of ids and leases; errors derive it.

use defmt::{Format, Formatter, write};

use super::{IdForm, for_ids};
use crate::{Id, Id53, Kind, Lease};

for_ids! {
    /// Formats an id as its text.
    impl[] Format {
        fn format(&self, f: Formatter<'_>) {
            // Without `core::fmt`, which is large.
            let digits = Id::from_u64(self.to_u64()).to_text();
            match Self::PREFIX {
                "" => write!(f, "{=str}", digits.as_str()),
                prefix => write!(f, "{=str}_{=str}", prefix, digits.as_str()),
            }
        }
    }
}

impl<K: Kind> Format for Id53<K> {
    fn format(&self, f: Formatter<'_>) {
        self.wide().format(f);
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
