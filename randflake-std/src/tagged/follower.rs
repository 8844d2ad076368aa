//! Start of a tagged handle, and the thread that follows rotations: it reads the directory again,
//! and acquires leases under the next key.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};

use randflake_core::{AnyLayout, KeyNumber};
use randflake_lease::StoreError;

use super::builder::TaggedBuilder;
use super::error::TaggedBuildError;
use super::handle::{Epoch, Owner, Shared, TaggedHandle};
use crate::handle::BuildError;
use crate::observability::events;

/// Longest time between two looks at the directory.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A renewal is refused after a third of the TTL: looked at so often, the next key is in use well
/// before the leases end.
const LOOKS_PER_TTL: u32 = 6;

impl<L: AnyLayout> TaggedBuilder<L> {
    /// Acquires the leases and starts the threads that renew them and follow rotations.
    ///
    /// A namespace that is not there begins under the highest number of the directory. One that is
    /// there is used under its own.
    ///
    /// # Blocking
    ///
    /// As for [`Builder::build`](crate::Builder::build), once or twice.
    ///
    /// # Errors
    ///
    /// [`TaggedBuildError`]. No lease is held then.
    pub fn build(mut self) -> Result<TaggedHandle<L>, TaggedBuildError> {
        let newest = self.secrets.numbers().next_back().unwrap_or(KeyNumber::MIN);
        let first = match self.epoch(newest) {
            Err(TaggedBuildError::Handle(BuildError::Store(StoreError::KeyNumber {
                stored,
                ..
            }))) => self.epoch(stored)?,
            epoch => epoch?,
        };
        // Not for later keys: the handle has leases while it waits for the next one.
        self.wait = Duration::ZERO;
        let shared = Arc::new(Shared::new(first));
        let secrets = self.secrets.clone();
        let follower = start(self, &shared).map_err(TaggedBuildError::Thread)?;
        Ok(TaggedHandle(Arc::new(Owner {
            shared,
            secrets,
            follower,
        })))
    }
}

/// Starts the thread. It ends with the handle.
fn start<L: AnyLayout>(builder: TaggedBuilder<L>, shared: &Arc<Shared<L>>) -> io::Result<Thread> {
    let follower = Follower {
        period: LOOK_EVERY.min(builder.ttl / LOOKS_PER_TTL),
        builder,
        shared: Arc::downgrade(shared),
        missing: None,
        is_unread: false,
    };
    let thread = thread::Builder::new()
        .name("randflake-keys".to_owned())
        .spawn(move || follower.run())?;
    Ok(thread.thread().clone())
}

struct Follower<L: AnyLayout> {
    builder: TaggedBuilder<L>,
    /// Weak: the leases are released when the last clone of the handle is dropped.
    shared: Weak<Shared<L>>,
    period: Duration,
    /// The number whose file is missing, once that was reported.
    missing: Option<KeyNumber>,
    /// The directory could not be read, and that was reported.
    is_unread: bool,
}

impl<L: AnyLayout> Follower<L> {
    fn run(mut self) {
        loop {
            // It may return early, which costs a look.
            thread::park_timeout(self.period);
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            if shared.is_closing.load(Ordering::SeqCst) {
                return;
            }
            self.read_keys();
            self.follow(&shared);
        }
    }

    fn read_keys(&mut self) {
        let read = self.builder.secrets.refresh();
        if let Err(error) = &read
            && !self.is_unread
        {
            events::keys_not_read(self.builder.secrets.namespace(), error);
        }
        self.is_unread = read.is_err();
    }

    /// Goes on to the key that the namespace has, if a renewal or an acquire was refused for it.
    fn follow(&mut self, shared: &Shared<L>) {
        let epoch = shared.current();
        let Some(mut number) = epoch.next_number() else {
            return;
        };
        let mut has_closed = false;
        loop {
            let error = match self.builder.epoch(number) {
                Ok(next) => {
                    self.missing = None;
                    go_on(shared, epoch, next);
                    events::key_rotated(self.builder.secrets.namespace(), number.get());
                    return;
                }
                Err(error) => error,
            };
            match &error {
                // More than one rotation has gone by.
                TaggedBuildError::Handle(BuildError::Store(StoreError::KeyNumber {
                    stored,
                    ..
                })) if *stored > number => number = *stored,
                // All node ids are in use, some of them by this handle: it gives them back and
                // leases them anew, as it could not renew them in any case.
                TaggedBuildError::Handle(BuildError::Store(StoreError::Exhausted { .. }))
                    if !has_closed =>
                {
                    has_closed = true;
                    _ = epoch.handle.close();
                }
                _ => {
                    self.report(number, &error);
                    return;
                }
            }
        }
    }

    fn report(&mut self, number: KeyNumber, error: &TaggedBuildError) {
        let namespace = self.builder.secrets.namespace();
        let TaggedBuildError::KeyFile { file, .. } = error else {
            events::key_not_used(namespace, number.get(), error);
            return;
        };
        // Once: it may be missing for long.
        if self.missing.replace(number) != Some(number) {
            events::key_file_missing(namespace, number.get(), file);
        }
    }
}

/// Lets callers go on to the next leases, and gives back the former ones.
fn go_on<L: AnyLayout>(shared: &Shared<L>, former: &Epoch<L>, next: Epoch<L>) {
    let handle = next.handle.clone();
    shared.go_on_to(next);
    // After callers can go on. A failure is told by the store's events; the leases expire by
    // themselves.
    _ = former.handle.close();
    // A handle that was closed meanwhile may not have seen the new leases.
    if shared.is_closing.load(Ordering::SeqCst) {
        _ = handle.close();
    }
}
