//! Other systems: a forked child is recognised by its process id.

/// Detects that this process is a forked child of the one that created the guard.
#[derive(Debug)]
pub struct ForkGuard {
    process_id: u32,
}

impl Default for ForkGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl ForkGuard {
    /// A guard of this process.
    #[must_use]
    pub fn new() -> Self {
        Self {
            process_id: std::process::id(),
        }
    }

    /// A system call, but one of the cheapest.
    #[must_use]
    pub fn is_cheap(&self) -> bool {
        true
    }

    /// Whether this process made the guard.
    #[must_use]
    pub fn is_surely_parent(&self) -> bool {
        !self.is_in_child()
    }

    /// Whether this process is a forked child of the one that made the guard.
    #[must_use]
    pub fn is_in_child(&self) -> bool {
        self.process_id != std::process::id()
    }
}
