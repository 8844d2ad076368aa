//! Node ids passed between two handles while threads are in the middle of blocks.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use randflake_std::{GenerateError, Id};

use crate::elastic::watched::{Watch, with_watch};
use crate::elastic::{Ids, PER_TICK, Server, assert_distinct, builder, held, pause, until};

/// A handle, what it had, and whether its threads take all that there is.
struct Party {
    ids: Ids,
    watch: Arc<Watch>,
    is_busy: AtomicBool,
}

impl Party {
    fn new(open: &Server) -> Self {
        let watch = Arc::new(Watch::default());
        let store = with_watch(open(), &watch);
        Self {
            ids: builder(store, 1..=7).build().unwrap(),
            watch,
            is_busy: AtomicBool::new(false),
        }
    }

    fn issue(&self, is_over: &AtomicBool) -> Vec<Id> {
        let mut issued = Vec::new();
        while !is_over.load(Ordering::SeqCst) {
            let is_busy = self.is_busy.load(Ordering::SeqCst);
            for _ in 0..if is_busy { PER_TICK } else { 1 } {
                match self.watch.generate(&self.ids) {
                    Ok(id) => issued.push(id),
                    Err(error) => {
                        assert!(
                            !matches!(error, GenerateError::Copied | GenerateError::InForkedChild),
                            "{error}"
                        );
                        break;
                    }
                }
            }
            thread::sleep(Duration::from_millis(if is_busy { 2 } else { 20 }));
        }
        issued
    }

    fn be_busy(&self) {
        self.is_busy.store(true, Ordering::SeqCst);
        until("a burst", pause, || held(&self.ids) >= 5);
        self.is_busy.store(false, Ordering::SeqCst);
    }

    fn be_quiet(&self) {
        until("a quiet time", pause, || held(&self.ids) == 1);
    }
}

/// However the test ends.
struct EndsThreads<'a>(&'a AtomicBool);

impl Drop for EndsThreads<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn to_and_fro(open: &Server) {
    let (first, second) = (Party::new(open), Party::new(open));
    let is_over = AtomicBool::new(false);
    let issued: Vec<Id> = thread::scope(|scope| {
        let threads: Vec<_> = [&first, &second, &first, &second, &first, &second]
            .into_iter()
            .map(|party| {
                let is_over = &is_over;
                scope.spawn(move || party.issue(is_over))
            })
            .collect();
        let ends_threads = EndsThreads(&is_over);
        // Both cannot have five of eight.
        for party in [&first, &second, &first] {
            party.be_busy();
            party.be_quiet();
        }
        drop(ends_threads);
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    for party in [first, second] {
        assert!(party.watch.released.load(Ordering::SeqCst) >= 4);
        party.ids.close().unwrap();
    }
    assert_distinct(issued);
}
