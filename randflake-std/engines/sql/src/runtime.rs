//! Tokio runtime of a store, by which blocking calls use an asynchronous client.

use core::fmt::{self, Debug, Formatter};
use core::mem;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use tokio::runtime::{self, Handle, Runtime};

use randflake_lease::EngineError;

/// Work for another thread.
type Job = Box<dyn FnOnce() + Send>;

/// A runtime of one store's own, without threads: it runs while somebody waits in a call.
pub(crate) struct StoreRuntime {
    runtime: Option<Arc<Runtime>>,
    /// The thread that waits for callers within a runtime, once there was one.
    helper: Option<Sender<Job>>,
    /// The process that made it.
    process: u32,
}

impl StoreRuntime {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let runtime = runtime::Builder::new_current_thread()
            // Time too: the limits of operations are timers of this runtime.
            .enable_all()
            .build()
            .map_err(EngineError::unavailable)?;
        Ok(Self {
            runtime: Some(Arc::new(runtime)),
            helper: None,
            process: process::id(),
        })
    }

    /// Whether a forked child has it of its parent. It must not touch its connections then, not
    /// even to close them.
    pub(crate) fn is_inherited(&self) -> bool {
        self.process != process::id()
    }

    /// Waits for some work. A caller that is itself a task of a runtime could not: Tokio forbids
    /// one within the other, and does not tell a task from a thread of `spawn_blocking`, which
    /// could. Then one other thread, which is kept for the next call, waits in its place.
    pub(crate) fn wait<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Runtime) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        // Shared with the job, which a helper may run.
        let Some(runtime) = self.runtime.clone() else {
            return Err(EngineError::unavailable("the store is being dropped"));
        };
        if Handle::try_current().is_err() {
            return Ok(work(&runtime));
        }
        // With room for one: the helper never waits for a caller that has gone.
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move || {
            let done = work(&runtime);
            // Before the answer: the caller may drop the store then, and with it the runtime.
            drop(runtime);
            _ = answer.send(done);
        });
        self.prepare()?;
        let helper = self.helper.as_ref().ok_or_else(ended)?;
        helper.send(job).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())
    }

    /// Starts what [`wait`](Self::wait) needs here.
    pub(crate) fn prepare(&mut self) -> Result<(), EngineError> {
        if self.helper.is_none() && Handle::try_current().is_ok() {
            let (jobs, received) = mpsc::channel::<Job>();
            thread::Builder::new()
                .name("randflake-store".to_owned())
                // It ends when the store drops its sender.
                .spawn(move || received.into_iter().for_each(|job| job()))
                .map_err(EngineError::unavailable)?;
            self.helper = Some(jobs);
        }
        Ok(())
    }
}

/// Error where an operation has ended the thread that ran it.
pub(crate) fn ended() -> EngineError {
    EngineError::unavailable("the thread of the store has ended")
}

impl Drop for StoreRuntime {
    fn drop(&mut self) {
        let (runtime, helper) = (self.runtime.take(), self.helper.take());
        if self.is_inherited() {
            // What it waits for is registered once for both processes, and the thread is the
            // parent's.
            mem::forget((runtime, helper));
        } else if let Some(runtime) = runtime.and_then(Arc::into_inner) {
            // Its own way to be dropped waits for its threads, which a task may not do.
            runtime.shutdown_background();
        }
    }
}

impl Debug for StoreRuntime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("StoreRuntime")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_waits_for_all_callers_within_a_runtime() {
        let outer = runtime::Builder::new_multi_thread().build().unwrap();
        let waiting = |blocking: &mut StoreRuntime| {
            blocking
                .wait(|runtime: &Runtime| runtime.block_on(async { thread::current().id() }))
                .unwrap()
        };
        let mut blocking = StoreRuntime::new().unwrap();
        assert_eq!(waiting(&mut blocking), thread::current().id());
        let ids = outer.block_on(async move {
            let (mut blocking, first) = tokio::task::spawn_blocking(move || {
                let id = waiting(&mut blocking);
                (blocking, id)
            })
            .await
            .unwrap();
            // It is dropped here, in a task.
            let others = (0..100).map(|_| waiting(&mut blocking));
            [&[first][..], &others.collect::<Vec<_>>()].concat()
        });
        assert_ne!(ids[0], thread::current().id());
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}
