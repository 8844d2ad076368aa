//! What `defmt` shows of ids and leases; errors derive it.

use defmt::{Format, Formatter, write};

use crate::{Id, Lease};

/// The text form.
impl Format for Id {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "{=str}", self.to_text().as_str());
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
