//! Leases on behalf of devices that have no connection to the store.

use core::time::Duration;

use randflake_core::{Custom, Lease, LeaseError, Ticket};

use super::{AcquireRequest, Grant, LeaseStore, StoreError, Token};
use crate::Secret;

/// A node id leased for a device: a server holds the lease and hands the device [tickets](Ticket) of it,
/// over whatever channel there is.
///
/// The server renews it as any holder does, and sends a ticket after each renewal; the device's ids end
/// with its last ticket. Nothing is kept beside the store: to go on after a restart, wait until the lease
/// is over, or acquire another.
///
/// ```
/// # use std::sync::Arc;
/// # use randflake_std::lease::{MemoryStore, Namespace};
/// # use randflake_std::randflake_core::ManualClock;
/// # use core::time::Duration;
/// use randflake_std::lease::DeviceLease;
/// use randflake_std::randflake_core::TicketReader;
/// use randflake_std::{Randflake, Secret};
///
/// # let clock = Arc::new(ManualClock::at_unix_ms(1_733_706_297_000));
/// # let mut store = MemoryStore::new(Namespace::of::<Randflake>("meters")?, clock);
/// let key = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?; // of the device's tickets alone
/// let ttl = Duration::from_secs(300);
/// let mut lease = DeviceLease::acquire(&mut store, 0xd0e5, ttl)?;
/// let first = lease.ticket(1, &key)?;
/// assert!(lease.renew(&mut store, ttl)?);
/// let second = lease.ticket(2, &key)?;
///
/// // On the device, with the same key:
/// # let key = [0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5];
/// let mut reader = TicketReader::new(0xd0e5, 0);
/// let granted = reader.accept::<Randflake>(&first, &key, None)?;
/// assert_eq!(granted.ticks(), 300);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DeviceLease {
    layout: Custom,
    device_id: u64,
    grant: Grant,
}

impl DeviceLease {
    /// Leases a node id for a device, for a time of at least a tick and at most the namespace's longest
    /// TTL. The store's records name the holder `device/` and the device's number in hex.
    ///
    /// # Errors
    ///
    /// The store's. After [`Unavailable`](StoreError::Unavailable) a node id may be leased that nobody
    /// uses, until it ends by itself.
    pub fn acquire(
        store: &mut dyn LeaseStore,
        device_id: u64,
        ttl: Duration,
    ) -> Result<Self, StoreError> {
        let request = AcquireRequest {
            token: Token::random().map_err(StoreError::unavailable)?,
            holder: &format!("device/{device_id:016x}"),
            count: 1,
            ttl: store.namespace().ticks(ttl),
        };
        let acquired = store.acquire(&request)?;
        let Some(grant) = acquired.grants.into_iter().next() else {
            return Err(StoreError::unavailable("the store granted nothing"));
        };
        Ok(Self {
            layout: store.namespace().spec().into(),
            device_id,
            grant,
        })
    }

    /// Moves the end of the lease to `ttl` from now; a ticket tells the device. Says whether the lease is
    /// still held: if not, its node id may be another's from its end on, and the device needs another one.
    ///
    /// # Errors
    ///
    /// The store's; the lease is as it was.
    pub fn renew(&mut self, store: &mut dyn LeaseStore, ttl: Duration) -> Result<bool, StoreError> {
        let ticks = store.namespace().ticks(ttl);
        let renewed = store.renew(&[self.grant], ticks)?;
        match renewed.ends.first() {
            Some(Some(end)) => {
                self.grant.end = *end;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The ticket of the lease as it is now, under the key of the device's tickets. The device refuses a
    /// counter that is not above that of the ticket before.
    ///
    /// # Errors
    ///
    /// [`LeaseError`] when the lease fits no ticket: see [`Ticket::of`].
    pub fn ticket(&self, counter: u32, key: &Secret) -> Result<[u8; Ticket::LEN], LeaseError> {
        let Grant {
            node_id,
            start,
            end,
            ..
        } = self.grant;
        let lease = Lease::of(self.layout, node_id, start, end)?;
        Ok(Ticket::of(&lease, self.device_id, counter)?.encode(key.bytes()))
    }

    /// What the store granted.
    #[must_use]
    pub const fn grant(&self) -> &Grant {
        &self.grant
    }
}
