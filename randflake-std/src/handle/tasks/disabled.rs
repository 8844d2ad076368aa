//! Without the feature `tokio`.

/// In the place of the tasks that wait for a change.
#[derive(Debug)]
pub(in crate::handle) struct Tasks;

#[expect(clippy::unused_self, reason = "the other one has tasks")]
impl Tasks {
    pub(in crate::handle) fn new() -> Self {
        Self
    }

    pub(in crate::handle) fn wake(&self) {}
}

/// Does what may block.
pub(in crate::handle) fn block(work: impl FnOnce() + Send + 'static) {
    work();
}
