//! What keeps a horizon.

/// Where a device keeps its *horizon*: a Unix time in whole seconds, before which every tick may have been
/// used.
///
/// Its contract:
///
/// - When `raise` has answered, the horizon is durable: whatever happens later, a store that is opened
///   anew shows at least that.
/// - It may be raised to the next multiple of 4 s; `unix_s` shows what it is.
/// - After a `raise` that failed or was cut the horizon is the former or the new one. `unix_s` shows the
///   former, and `raise` may be tried again.
/// - A horizon never falls: raising it to a lower one succeeds, and it is not lower afterwards.
/// - 0 means that nothing is readable: the device was never provisioned, or has lost its horizon. A store
///   that cannot tell the two apart is right.
/// - What cannot be stored is refused.
///
/// It is about the medium and knows nothing of leases; [`Blocks`](crate::Blocks) does.
pub trait HorizonStore {
    /// How the medium fails.
    type Error;

    /// The horizon in seconds of Unix time; 0 when nothing is readable.
    fn unix_s(&self) -> u32;

    /// Raises it, durably.
    ///
    /// # Errors
    ///
    /// The medium's.
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
