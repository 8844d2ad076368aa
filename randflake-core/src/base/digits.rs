//! Text of an id in a buffer on the stack.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

/// Room for the longest text: 64 digits of base 2.
pub(super) const BUFFER_LEN: usize = 64;

/// Text of an id in a [`Base`](crate::Base), in a buffer on the stack: derefs to a `str` of 1 to 64 ASCII
/// characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digits {
    pub(super) buffer: [u8; BUFFER_LEN],
    /// Index of the first digit: 0 to 63.
    pub(super) start: usize,
}

impl Digits {
    // `start` is below 64 and all bytes are ASCII: the defaults are never taken, and no panic is compiled in.

    /// The text as ASCII bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The text as a string slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl Deref for Digits {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Digits {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Display for Digits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl Debug for Digits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}
