//! What lets a blocking call wait for the client, which is asynchronous.

use core::fmt::{self, Debug, Formatter};
use std::panic;
use std::thread;

use tokio::runtime::{self, Handle, Runtime};

use crate::lease::StoreError;

/// A runtime of one store's own, without threads: it runs while somebody waits in a call.
pub(super) struct Blocking(Option<Runtime>);

impl Blocking {
    pub(super) fn new() -> Result<Self, StoreError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StoreError::unavailable)?;
        Ok(Self(Some(runtime)))
    }

    /// Waits for some work. A caller that is itself a task of a runtime could not: Tokio forbids one
    /// within the other. Then another thread waits in its place.
    pub(super) fn wait<T: Send>(
        &self,
        work: impl FnOnce(&Runtime) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let Some(runtime) = &self.0 else {
            return Err(StoreError::unavailable("the store is being dropped"));
        };
        if Handle::try_current().is_err() {
            return work(runtime);
        }
        thread::scope(|scope| {
            let thread = thread::Builder::new()
                .name("randflake-store".to_owned())
                .spawn_scoped(scope, || work(runtime))
                .map_err(StoreError::unavailable)?;
            thread
                .join()
                .unwrap_or_else(|payload| panic::resume_unwind(payload))
        })
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // Its own way to be dropped waits for its threads, which a task may not do.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Debug for Blocking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking")
    }
}
