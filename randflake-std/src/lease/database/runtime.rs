//! What lets a blocking call wait for a database's client, which is asynchronous.

use core::fmt::{self, Debug, Formatter};
use core::mem;
use std::panic;
use std::process;
use std::thread;

use tokio::runtime::{self, Handle, Runtime};

use crate::lease::EngineError;

/// A runtime of one store's own, without threads: it runs while somebody waits in a call.
pub(super) struct Blocking {
    runtime: Option<Runtime>,
    /// The process that made it.
    process: u32,
}

impl Blocking {
    pub(super) fn new() -> Result<Self, EngineError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(EngineError::unavailable)?;
        Ok(Self {
            runtime: Some(runtime),
            process: process::id(),
        })
    }

    /// Whether a forked child has it of its parent. It must not touch its connections then, not even to
    /// close them.
    pub(super) fn is_inherited(&self) -> bool {
        self.process != process::id()
    }

    /// Waits for some work. A caller that is itself a task of a runtime could not: Tokio forbids one
    /// within the other. Then another thread waits in its place.
    pub(super) fn wait<T: Send>(
        &self,
        work: impl FnOnce(&Runtime) -> T + Send,
    ) -> Result<T, EngineError> {
        let Some(runtime) = &self.runtime else {
            return Err(EngineError::unavailable("the store is being dropped"));
        };
        if Handle::try_current().is_err() {
            return Ok(work(runtime));
        }
        thread::scope(|scope| {
            let thread = thread::Builder::new()
                .name("randflake-store".to_owned())
                .spawn_scoped(scope, || work(runtime))
                .map_err(EngineError::unavailable)?;
            let done = thread.join();
            Ok(done.unwrap_or_else(|payload| panic::resume_unwind(payload)))
        })
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        if self.is_inherited() {
            // What it waits for is registered once for both processes.
            mem::forget(runtime);
        } else {
            // Its own way to be dropped waits for its threads, which a task may not do.
            runtime.shutdown_background();
        }
    }
}

impl Debug for Blocking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking")
    }
}
