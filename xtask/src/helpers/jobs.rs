//! What runs side by side.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

/// Runs something for each, so many at once; the answers come in their order.
pub(crate) fn each<T: Send, A: Send>(
    at_once: usize,
    of: impl IntoIterator<Item = T, IntoIter: Send>,
    run: impl Fn(T) -> A + Sync,
) -> Vec<A> {
    let queue = Mutex::new(of.into_iter().enumerate());
    let mut answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once)
            .map(|_| {
                scope.spawn(|| {
                    core::iter::from_fn(|| queue.lock().ok()?.next())
                        .map(|(at, one)| (at, run(one)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why)))
            .collect()
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
