//! An id to show in schemas and errors.

use core::fmt::{self, Display, Formatter};
use core::marker::PhantomData;

use super::IdForm;

/// Writes the text of an example `T`.
pub(super) struct Example<T>(PhantomData<T>);

impl<T> Example<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T: IdForm> Display for Example<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let separator = if T::PREFIX.is_empty() { "" } else { "_" };
        write!(f, "{}{separator}3vgoe12ccb8gh", T::PREFIX)
    }
}
