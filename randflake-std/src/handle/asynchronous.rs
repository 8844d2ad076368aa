//! Async methods of a handle for Tokio: nothing here blocks the thread that polls it.

use core::convert::Infallible;
use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::mpsc;
use std::{io, thread};

use randflake_core::GenerateError;
use randflake_core::{AnyLayout, Id, Permutation};
use randflake_lease::StoreError;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::id_wait::IdWait;
use super::{BuildError, Builder, DROP_WAIT, Handle, tasks};

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Builder<L, P> {
    /// [`build`](Builder::build) for a task: builds in a thread of its own, so that other tasks of
    /// the runtime go on. It needs no runtime itself.
    ///
    /// A store's `open` blocks as well: [`lease::deferred`](crate::lease::deferred) opens it in
    /// that thread, too.
    ///
    /// # Cancellation
    ///
    /// A future that is dropped leaves no handle behind. What the thread acquires after that it
    /// releases, and it does not begin another try. A runtime that is dropped meanwhile waits one
    /// second for that at most; a lease that is not released by then, or whose grant was not
    /// answered, ends by itself. A future that was never polled has done nothing.
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build).
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Handle, Randflake, Secret};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # runtime.block_on(async {
    /// let store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
    /// let ids = Handle::builder(&Secret::generate()?, store).build_async().await?;
    /// let id = ids.generate()?; // no `await`: it never blocks
    /// let next = ids.generate_wait_async(Duration::from_secs(1)).await?;
    /// assert_ne!(id, next);
    /// ids.close_async().await?;
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub async fn build_async(self) -> Result<Handle<L, P>, BuildError> {
        let (caller, cancellation) = mpsc::channel();
        let (thread_alive, thread_end) = mpsc::channel::<Infallible>();
        let (result, received) = oneshot::channel();
        thread::Builder::new()
            .name("randflake-build".to_owned())
            .spawn(move || {
                // Dropped at the end of this thread, also by a panic.
                let _thread_alive = thread_alive;
                let built = self.build_while(&cancellation);
                // Nobody receives any more: the future was dropped when the store had just granted.
                if let Err(Ok(unwanted)) = result.send(built) {
                    let _ends_by_itself = unwanted.close();
                }
            })
            .map_err(BuildError::Thread)?;
        let mut building = Building(Some((caller, thread_end)));
        let built = received.await;
        // It is over, so dropping it cancels nothing.
        building.0 = None;
        built.unwrap_or_else(|_| Err(BuildError::Thread(io::Error::other("it panicked"))))
    }
}

/// While it lives the caller still wants the handle; dropping it cancels the build.
struct Building(Option<(mpsc::Sender<Infallible>, mpsc::Receiver<Infallible>)>);

impl Drop for Building {
    fn drop(&mut self) {
        if let Some((caller, thread_end)) = self.0.take() {
            drop(caller);
            tasks::block(move || _ = thread_end.recv_timeout(DROP_WAIT));
        }
    }
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Handle<L, P> {
    /// [`generate_wait`](Handle::generate_wait) for a task: it sleeps by the runtime's timers, and
    /// no thread waits.
    ///
    /// These timers count milliseconds, so an id of the next tick is available up to 2 ms after
    /// that begins. If there is an id at once it returns without a look at the runtime; a task that
    /// generates millions in a row calls `tokio::task::yield_now` now and then.
    ///
    /// # Cancellation
    ///
    /// A future that is dropped has consumed nothing: an id is taken at the very end.
    ///
    /// # Errors
    ///
    /// As for [`generate_wait`](Handle::generate_wait).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime, and in one without timers (`enable_time`), if it has to wait.
    pub async fn generate_wait_async(&self, limit: Duration) -> Result<Id, GenerateError> {
        match self.generate() {
            Ok(id) => Ok(id),
            Err(_) => self.retry_async(limit, || self.generate()).await,
        }
    }

    /// [`fill_wait`](Handle::fill_wait) for a task, as
    /// [`generate_wait_async`](Handle::generate_wait_async) is.
    ///
    /// # Cancellation
    ///
    /// A future that is dropped has consumed nothing: ids are taken at the very end.
    ///
    /// # Errors
    ///
    /// As for [`fill_wait`](Handle::fill_wait).
    ///
    /// # Panics
    ///
    /// As [`generate_wait_async`](Handle::generate_wait_async) does.
    pub async fn fill_wait_async(
        &self,
        ids: &mut [Id],
        limit: Duration,
    ) -> Result<usize, GenerateError> {
        match self.fill(ids) {
            Ok(filled) => Ok(filled),
            Err(_) => self.retry_async(limit, || self.fill(ids)).await,
        }
    }

    async fn retry_async<T>(
        &self,
        limit: Duration,
        mut attempt: impl FnMut() -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let shared = &*self.0.0;
        let retry = IdWait::new(shared, limit);
        loop {
            match retry.attempt(&mut attempt)? {
                ControlFlow::Break(success) => return Ok(success),
                ControlFlow::Continue(pause) => {
                    let over = shared
                        .phase
                        .tasks
                        .until(|| pause.is_over(&shared.phase.lock()));
                    // Whether it was a change or the limit: the next attempt says what follows.
                    let _in_time = timeout(pause.limit, over).await;
                }
            }
        }
    }

    /// [`close`](Handle::close) for a task: the keeper's thread waits for the store, and wakes the
    /// task when it is done. It needs no runtime.
    ///
    /// # Cancellation
    ///
    /// The first poll ends issuing, for every clone. A future that is dropped after that leaves the
    /// release to the keeper; another call waits for it and has its result.
    ///
    /// # Errors
    ///
    /// As for [`close`](Handle::close).
    pub async fn close_async(&self) -> Result<(), StoreError> {
        let shared = &*self.0.0;
        if shared.begin_close() {
            shared.phase.tasks.until(|| shared.phase.lock().ended).await;
        }
        shared.end_close()
    }
}
