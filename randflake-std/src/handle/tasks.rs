//! Waiting tasks and blocking work: with Tokio (feature `tokio`), or with threads alone.

#[cfg(not(feature = "tokio"))]
pub(super) use threads::*;
#[cfg(feature = "tokio")]
pub(super) use tokio_runtime::*;

#[cfg(feature = "tokio")]
mod tokio_runtime {
    use tokio::runtime::Handle;
    use tokio::sync::Notify;

    /// The tasks that wait for a change.
    #[derive(Debug)]
    pub(in crate::handle) struct Tasks(Notify);

    impl Tasks {
        pub(in crate::handle) fn new() -> Self {
            Self(Notify::new())
        }

        pub(in crate::handle) fn wake(&self) {
            self.0.notify_waiters();
        }

        /// Waits until something holds that only changes before a [`wake`](Tasks::wake).
        pub(in crate::handle) async fn until(&self, wanted: impl Fn() -> bool) {
            loop {
                // Before the look: it is woken by what changes after that, though it is not polled
                // yet.
                let woken = self.0.notified();
                if wanted() {
                    return;
                }
                woken.await;
            }
        }
    }

    /// Does what may block: here, or in a thread for such work if this one runs a runtime's tasks.
    /// A runtime that is dropped waits for these threads, so that the end of `main` does not cut
    /// the work short.
    pub(in crate::handle) fn block(work: impl FnOnce() + Send + 'static) {
        match Handle::try_current() {
            // Not joined: a task that drops a handle must not wait.
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }
}

#[cfg(not(feature = "tokio"))]
mod threads {
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
}
