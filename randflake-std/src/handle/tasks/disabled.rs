//! Twin of `enabled` without the feature `tokio`.

/// No tasks: without Tokio only threads wait.
#[derive(Debug)]
pub(in crate::handle) struct Tasks;

#[expect(clippy::unused_self, reason = "the other one has tasks")]
impl Tasks {
    pub(in crate::handle) fn new() -> Self {
        Self
    }

    pub(in crate::handle) fn wake(&self) {}
}

/// Runs work that may block, on this thread.
pub(in crate::handle) fn block(work: impl FnOnce() + Send + 'static) {
    work();
}
