//! Counters by URL.

use super::SegmentStore;
use crate::lease::url::open_counter;
use crate::lease::{Namespace, StoreError};

/// Opens the store that a URL names, for the counter of a namespace, as
/// [`lease::open`](crate::lease::open) does.
///
/// # Errors
///
/// As for [`lease::open`](crate::lease::open), and [`StoreError::Invalid`] for `static:PATH`, which keeps no
/// counters.
pub fn open(url: &str, namespace: &Namespace) -> Result<Box<dyn SegmentStore>, StoreError> {
    open_counter(url, namespace)
}
