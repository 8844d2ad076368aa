//! What `defmt` shows of ids and leases; errors derive it.

use defmt::{Format, Formatter, write};

use crate::Lease;
use crate::integrations::for_ids;

for_ids! {
    /// The text form.
    impl[] Format {
        fn format(&self, f: Formatter<'_>) {
            write!(f, "{}", defmt::Display2Format(self));
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
