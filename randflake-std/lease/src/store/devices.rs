//! Facet of a store: devices, the records of their tickets and the leases on their behalf.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_core::{AnyLayout, LayoutSpec, Lease, MakeTicketError, Ticket};

use super::operation::fresh;
use super::records::Records;
use super::{LeaseStore, Reading};
use crate::backoff::Retry;
use crate::rules::device::decide;
use crate::rules::{Before, DeviceRecord, Entry, Form, Key, Keys};
use crate::secret::Secret;
use crate::types::holder::DEVICE;
use crate::types::{
    AcquireRequest, Device, DeviceError, DeviceRequest, EngineError, Grant, KeyCheck, NodeIds,
    Record, StoreError, Token,
};

impl LeaseStore {
    /// Devices that get their leases by tickets.
    pub fn devices(&mut self) -> Devices<'_> {
        Devices { store: self }
    }
}

/// Records and leases of devices, as [`LeaseStore::devices`] returns them.
///
/// A device has no connection to the store: a server holds a lease for it, a [`DeviceLease`], and
/// sends it tickets.
#[derive(Debug)]
pub struct Devices<'a> {
    store: &'a mut LeaseStore,
}

impl Devices<'_> {
    /// Reads or writes a device's record: its owner, and the counter of its last ticket. Returns
    /// the record as it is now.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; after [`StoreError::Unavailable`] the counter may have been taken: take the
    /// next one.
    pub fn request(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        let (_, nonce) = fresh().map_err(EngineError::unavailable)?;
        let keys = [Keys::One(Key::Namespace), Keys::One(Key::Device(device_id))];
        self.store.ready()?.update(&keys, |records, reading| {
            let (namespace, before) = records.device_of(device_id, request, reading)?;
            let device = before.as_ref().map(|record| &record.device);
            let device = decide(device_id, device, request)?;
            // Without entries nothing is written, so a look costs one read.
            if *request == DeviceRequest::Look {
                return Ok((Vec::new(), device));
            }
            let after = DeviceRecord {
                device,
                nonce,
                form: before
                    .as_ref()
                    .map_or_else(Form::default, |it| it.form.clone()),
            };
            // Unchanged, but compared: a drop or an upgrade in between makes this write stale.
            let guard = Entry {
                key: Key::Namespace,
                before: Before::Text(namespace),
                after: None,
            };
            let update = Entry {
                key: Key::Device(device_id),
                before: Before::read(before.map(|record| record.to_text())),
                after: Some(after.to_text()),
            };
            Ok((vec![guard, update], after.device))
        })
    }

    /// Leases a node id for a device, for at least one tick and at most the namespace's longest
    /// TTL. The store's records name the holder `device/` and the device's number in hex.
    ///
    /// It blocks: see [how long](crate#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// The store's. After [`StoreError::Unavailable`] an unused node id may stay leased until it
    /// expires.
    pub fn acquire(&mut self, device_id: u64, ttl: Duration) -> Result<DeviceLease, StoreError> {
        let namespace = self.store.namespace();
        check_form(namespace.key_check())?;
        let layout = namespace.spec();
        let acquired = self.store.acquire(&AcquireRequest {
            token: Token::random().map_err(StoreError::unavailable)?,
            holder: &holder_of(device_id),
            nodes: NodeIds::Any(1),
            ttl: namespace.ticks(ttl),
        })?;
        // An acquire grants everything or nothing, so this is a store that breaks its contract.
        let Some(grant) = acquired.grants.into_iter().next() else {
            return Err(StoreError::unavailable("the store granted nothing"));
        };
        Ok(DeviceLease {
            layout,
            device_id,
            grant,
        })
    }

    /// Finds a device's lease, whichever server of the namespace acquired or renewed it last. If
    /// the device has several, returns the one that began last.
    ///
    /// It reads the whole list of leases; for many devices, [`leases`](Self::leases) reads it once.
    /// Make no ticket of it before you have [renewed](DeviceLease::renew) it or taken a counter by
    /// [`request`](Self::request): until a later write, a crash of the store may undo what it has
    /// only shown.
    ///
    /// # Errors
    ///
    /// - [`NotLeased`](DeviceLeaseError::NotLeased): it has no live lease;
    /// - [`Store`](DeviceLeaseError::Store).
    pub fn find(&mut self, device_id: u64) -> Result<DeviceLease, DeviceLeaseError> {
        self.leases()?
            .into_iter()
            .filter(|lease| lease.device_id == device_id)
            // Two servers may have leased for it at once: the lease that began last goes on.
            .max_by_key(|lease| (lease.grant.start, lease.grant.fencing_token))
            .ok_or(DeviceLeaseError::NotLeased { device_id })
    }

    /// Returns the live leases of all devices, in order of node ids. Renew each before you make a
    /// ticket of it: see [`find`](Self::find).
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn leases(&mut self) -> Result<Vec<DeviceLease>, StoreError> {
        // The time first: a lease that is granted in between begins later, so it has not expired.
        let now = self.store.now()?;
        let layout = self.store.namespace().spec();
        let tick = layout.tick_at(now).unwrap_or(0);
        Ok(self
            .store
            .list()?
            .iter()
            .filter(|record| tick < record.grant.end)
            .filter_map(|record| DeviceLease::of(record, layout))
            .collect())
    }
}

/// Refuses devices in a namespace of tagged UUIDs, which they do not issue.
fn check_form(key_check: Option<KeyCheck>) -> Result<(), StoreError> {
    if key_check.and_then(KeyCheck::number).is_none() {
        return Ok(());
    }
    Err(StoreError::Invalid(
        "devices issue no tagged UUIDs, which are the ids of this namespace: use another namespace \
         for them"
            .to_owned(),
    ))
}

impl Records {
    /// The namespace's text, and the device's record.
    fn device_of(
        &self,
        device_id: u64,
        request: &DeviceRequest<'_>,
        mut reading: Reading,
    ) -> Result<(String, Option<DeviceRecord>), StoreError> {
        let name = self.namespace.name();
        let Some(namespace) = reading.texts.remove(&Key::Namespace) else {
            let what = format!("there is no namespace {name:?} yet");
            let refused = self.refused(&what, "create it first, with `randflake lease init`");
            return Err(refused.into());
        };
        // A program that cannot read the namespace's record writes nothing in it; and a drop has
        // removed all devices.
        let stored = self.namespace_of(&namespace)?;
        stored.check_dropped()?;
        if *request != DeviceRequest::Look {
            check_form(stored.terms.key_check)?;
        }
        let record = reading.texts.get(&Key::Device(device_id)).map(|text| {
            DeviceRecord::from_text(text, self.capabilities)
                .map_err(|why| self.refused(&format!("device {device_id:016x}"), &why))
        });
        Ok((namespace, record.transpose()?))
    }
}

/// A node id leased for a device: a server holds the lease and sends the device [tickets](Ticket)
/// for it, over any channel.
///
/// The server renews the lease like any holder, and sends a ticket after each renewal; the device
/// can issue until its last ticket expires. [`Devices`] acquires a lease, and finds it again after
/// a restart or on another server. The store also keeps the owner of each device and the counter of
/// its last ticket: take the next one with [`Devices::request`] before each ticket, or keep it
/// yourself. The next one must be higher.
///
/// ```
/// # use std::sync::Arc;
/// # use randflake_lease::{MemoryStore, Namespace};
/// # use randflake_core::ManualClock;
/// # use core::time::Duration;
/// use randflake_lease::Secret;
/// use randflake_core::{Randflake, TicketReader};
///
/// # let clock = Arc::new(ManualClock::at_unix_ms(1_733_706_297_000));
/// # let mut store = MemoryStore::new(Namespace::new("meters", Randflake)?, clock);
/// let key = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?; // of the device's tickets alone
/// let ttl = Duration::from_secs(60);
/// let mut lease = store.devices().acquire(0xd0e5, ttl)?;
/// let first = lease.ticket(1, &key)?;
/// // Later, perhaps after a restart:
/// let mut lease = store.devices().find(0xd0e5)?;
/// lease.renew(&mut store, ttl)?;
/// let second = lease.ticket(2, &key)?;
///
/// // On the device, with the same key:
/// # let key = [0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5];
/// let mut reader = TicketReader::new(0xd0e5, 0);
/// let granted = reader.accept::<Randflake>(&first, &key, None)?;
/// assert_eq!(granted.ticks(), 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DeviceLease {
    layout: LayoutSpec,
    device_id: u64,
    grant: Grant,
}

impl DeviceLease {
    /// The lease of a record, if its holder is a device.
    fn of(record: &Record, layout: LayoutSpec) -> Option<Self> {
        let number = record.holder.strip_prefix(DEVICE)?;
        let device_id = u64::from_str_radix(number, 16).ok()?;
        // No other spelling: other holders may have names that look like it.
        (record.holder == holder_of(device_id)).then_some(Self {
            layout,
            device_id,
            grant: record.grant,
        })
    }

    /// Moves the end of the lease to `ttl` from now, never back. Send the device a new
    /// [ticket](Self::ticket) afterwards.
    ///
    /// # Errors
    ///
    /// The lease is unchanged.
    ///
    /// - [`Lost`](DeviceLeaseError::Lost): it has expired or was released, so the device needs
    ///   another one;
    /// - [`Store`](DeviceLeaseError::Store).
    pub fn renew(&mut self, store: &mut LeaseStore, ttl: Duration) -> Result<(), DeviceLeaseError> {
        check_form(store.namespace().key_check())?;
        let ticks = store.namespace().ticks(ttl);
        let renewed = store.renew(&[self.grant], ticks)?;
        let Some(Ok(end)) = renewed.ends.first() else {
            return Err(DeviceLeaseError::Lost {
                node_id: self.grant.node_id,
            });
        };
        self.grant.end = *end;
        Ok(())
    }

    /// Ends the lease at a time since the Unix epoch, by the device's clock, from which on the
    /// device **will never use it**. Later ticks are free for others at once.
    ///
    /// Only the device knows that time: its horizon
    /// ([`HorizonStore::unix_s`](randflake_core::HorizonStore::unix_s)), if it has one and begins
    /// no further block of the lease. If the device does not report it, let the lease expire.
    /// Releasing an expired lease does nothing.
    ///
    /// Another server that has found the lease does not notice, and its tickets would still have
    /// the old end. If several servers serve one device, each must [renew](Self::renew) before it
    /// makes a ticket.
    ///
    /// # Errors
    ///
    /// The store's; the same release may be repeated.
    pub fn release(self, store: &mut LeaseStore, unused_from: Duration) -> Result<(), StoreError> {
        let spec = self.layout.spec();
        // Before the epoch nothing was used. The rule cuts no end before the lease's start.
        let tick = spec.tick_at(unused_from).unwrap_or(0);
        // A tick that began before may have been used.
        let begins_then = Duration::from_millis(spec.unix_ms(tick)) >= unused_from;
        let end = if begins_then { tick } else { tick + 1 };
        store.release(&[Grant { end, ..self.grant }])
    }

    /// Makes a ticket of the lease as it is now, under the key of the device's tickets. The device
    /// refuses a counter that is not higher than the last one.
    ///
    /// The key must not be that of ids. A caller that has both must compare them (`key == ids_key`,
    /// in constant time), as `randflake lease ticket` does; this function sees only one.
    ///
    /// # Errors
    ///
    /// [`MakeTicketError`] when the counter is not 1 to [`Ticket::MAX_COUNTER`], or the lease fits
    /// no ticket: see [`Ticket::of`].
    pub fn ticket(&self, counter: u32, key: &Secret) -> Result<[u8; Ticket::LEN], MakeTicketError> {
        let Grant {
            node_id,
            start,
            end,
            ..
        } = self.grant;
        let lease = Lease::new(self.layout, node_id, start, end)?;
        Ok(Ticket::of(&lease, self.device_id, counter)?.encode(key.bytes()))
    }

    /// Number of the device.
    #[must_use]
    pub const fn device_id(&self) -> u64 {
        self.device_id
    }

    /// What the store granted.
    #[must_use]
    pub const fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// Name of the holder of a device's lease.
fn holder_of(device_id: u64) -> String {
    format!("{DEVICE}{device_id:016x}")
}

/// Why a device's lease was not found, or not renewed.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceLeaseError {
    /// The device has no live lease.
    NotLeased {
        /// Number of the device.
        device_id: u64,
    },
    /// The lease has expired or was released.
    Lost {
        /// Node id of the lost lease.
        node_id: u32,
    },
    /// The store refused or failed.
    Store(StoreError),
}

impl Display for DeviceLeaseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLeased { device_id } => {
                write!(f, "device {device_id:016x} has no live lease")
            }
            Self::Lost { node_id } => write!(
                f,
                "the lease of node id {node_id} has expired or was released: its device needs another one"
            ),
            Self::Store(error) => Display::fmt(error, f),
        }
    }
}

impl Error for DeviceLeaseError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::NotLeased { .. } | Self::Lost { .. } => None,
        }
    }
}

impl From<StoreError> for DeviceLeaseError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<&DeviceLeaseError> for Retry {
    fn from(error: &DeviceLeaseError) -> Self {
        match error {
            DeviceLeaseError::Store(error) => error.into(),
            // A retry brings no lease back: the device needs an acquire.
            _ => Self::Never,
        }
    }
}
