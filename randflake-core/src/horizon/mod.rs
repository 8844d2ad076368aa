//! Restart safety without a lease store: a device records how far it may have got before it goes
//! there.

mod blocks;
mod log;
mod record;
mod retained;
mod ticket_counter;

use core::future::Future;
use core::time::Duration;

use crate::{HorizonError, Layout, Lease};
use blocks::Claim;
pub use blocks::{Blocks, DEFAULT_BLOCK_S};
pub use log::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, LogGeometry, LogPage};
pub use record::HorizonRecord;
pub use retained::RetainedMemory;
pub use ticket_counter::TicketCounter;

/// Durable storage of a *horizon*: a Unix time in seconds, before which every tick may have been
/// used.
///
/// Its contract:
///
/// - When `raise` returns, the horizon is durable: a store that is opened later shows at least
///   that.
/// - It may be raised to the next multiple of 4 s, or a few of them higher after a failure;
///   `unix_s` shows what it is.
/// - After a `raise` that failed or was interrupted, the horizon in the medium is the old or the
///   new one. `unix_s` shows the old one, and `raise` may be retried.
/// - A horizon never decreases: raising it to a lower one succeeds and changes nothing.
/// - 0 means that nothing is readable: the device was never provisioned, or has lost its horizon. A
///   store need not distinguish these.
/// - A time that cannot be stored is refused.
///
/// It knows nothing of leases; [`Blocks`](crate::Blocks) does.
pub trait HorizonStore {
    /// Error of the medium.
    type Error;

    /// The horizon in seconds of Unix time; 0 when nothing is readable.
    fn unix_s(&self) -> u32;

    /// Raises the horizon durably, to at least `unix_s`.
    ///
    /// # Errors
    ///
    /// The error of the medium.
    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error>;
}

impl<S: HorizonStore + ?Sized> HorizonStore for &mut S {
    type Error = S::Error;

    fn unix_s(&self) -> u32 {
        (**self).unix_s()
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error> {
        (**self).raise(unix_s)
    }
}

/// Async [`HorizonStore`], with the same contract. A `raise` whose future is
/// dropped before it completes counts as failed.
pub trait AsyncHorizonStore {
    /// Error of the medium.
    type Error;

    /// The horizon in seconds of Unix time; 0 when nothing is readable.
    fn unix_s(&self) -> u32;

    /// Raises the horizon durably, to at least `unix_s`.
    ///
    /// # Errors
    ///
    /// The error of the medium.
    fn raise(&mut self, unix_s: u32) -> impl Future<Output = Result<(), Self::Error>>;
}

impl<S: AsyncHorizonStore + ?Sized> AsyncHorizonStore for &mut S {
    type Error = S::Error;

    fn unix_s(&self) -> u32 {
        (**self).unix_s()
    }

    fn raise(&mut self, unix_s: u32) -> impl Future<Output = Result<(), Self::Error>> {
        (**self).raise(unix_s)
    }
}

impl<L: Layout, S: AsyncHorizonStore> Blocks<L, S> {
    /// Writes the first horizon to an async store: see [`provision`](Self::provision).
    ///
    /// # Errors
    ///
    /// As for `provision`.
    pub async fn provision_async(&mut self) -> Result<(), HorizonError<S::Error>> {
        let first = self.first(self.store.unix_s())?;
        let raised = self.store.raise(first).await;
        raised.map_err(HorizonError::Store)
    }

    /// Begins the next block in an async store: see [`begin`](Self::begin). If the future is
    /// dropped before it completes, no block was begun.
    ///
    /// # Errors
    ///
    /// As for `begin`.
    pub async fn begin_async(
        &mut self,
        now: Option<Duration>,
    ) -> Result<Lease<L>, HorizonError<S::Error>> {
        // The claim is a value: a future that is dropped at the await leaves nothing behind but a
        // horizon that may be higher.
        let claim = self.next(self.store.unix_s(), now)?;
        self.raise_async(&claim).await
    }

    /// Extends the last block in an async store: see [`extend`](Self::extend).
    ///
    /// # Errors
    ///
    /// As for `extend`.
    pub async fn extend_async(
        &mut self,
        lease: Lease<L>,
    ) -> Result<Lease<L>, HorizonError<S::Error>> {
        let claim = self.longer(self.store.unix_s(), lease)?;
        self.raise_async(&claim).await
    }

    async fn raise_async(&mut self, claim: &Claim) -> Result<Lease<L>, HorizonError<S::Error>> {
        let raised = self.store.raise(claim.horizon).await;
        raised.map_err(HorizonError::Store)?;
        // Made after the await: if the future is dropped before, there is no lease, so the ticks
        // are skipped and nobody issues them.
        Ok(self.lease(claim, self.store.unix_s()))
    }
}

#[cfg(test)]
mod tests {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};

    use super::*;
    use crate::Randflake;

    /// A medium that answers when it is asked a second time.
    struct Slow(u32);

    impl AsyncHorizonStore for Slow {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.0
        }

        async fn raise(&mut self, to: u32) -> Result<(), ()> {
            let mut is_asked_again = false;
            core::future::poll_fn(|_| {
                let poll = if is_asked_again {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                };
                is_asked_again = true;
                poll
            })
            .await;
            self.0 = self.0.max(to);
            Ok(())
        }
    }

    fn answer<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(answer) = future.as_mut().poll(&mut context) {
                return answer;
            }
        }
    }

    #[test]
    fn blocks_are_those_of_a_store_that_blocks() {
        let grant = Lease::new(Randflake, 1, 100, 290).unwrap();
        let mut store = Slow(0);
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(answer(blocks.begin_async(None)), Err(HorizonError::Lost));
        answer(blocks.provision_async()).unwrap();
        assert_eq!(
            answer(blocks.provision_async()),
            Err(HorizonError::Provisioned)
        );
        let lease = answer(blocks.begin_async(None)).unwrap();
        assert_eq!((lease.start(), lease.end()), (100, 160));
        let longer = answer(blocks.extend_async(lease)).unwrap();
        assert_eq!((longer.start(), longer.end()), (100, 220));
        assert_eq!(
            answer(blocks.extend_async(lease)),
            Err(HorizonError::Foreign)
        );
    }

    #[test]
    fn a_block_that_was_not_waited_for_was_not_begun() {
        let grant = Lease::new(Randflake, 1, 100, 290).unwrap();
        let mut blocks = Blocks::new(grant, Slow(1));
        {
            let mut begun = pin!(blocks.begin_async(None));
            let mut context = Context::from_waker(Waker::noop());
            assert_eq!(begun.as_mut().poll(&mut context), Poll::Pending);
        }
        assert_eq!(blocks.store().unix_s(), 1);
        assert_eq!(answer(blocks.begin_async(None)).unwrap().start(), 100);
    }

    /// A medium that fails, and shows more all the same.
    struct Failing(u32);

    impl AsyncHorizonStore for Failing {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.0
        }

        async fn raise(&mut self, to: u32) -> Result<(), ()> {
            self.0 = to;
            Err(())
        }
    }

    #[test]
    fn nothing_is_used_that_was_not_written() {
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        let mut blocks = Blocks::new(grant, Failing(1));
        let mut context = Context::from_waker(Waker::noop());
        let begun = pin!(blocks.begin_async(None)).poll(&mut context);
        assert_eq!(begun, Poll::Ready(Err(HorizonError::Store(()))));
    }
}
