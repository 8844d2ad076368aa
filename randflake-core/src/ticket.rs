//! Tickets: a lease in 32 authenticated bytes, checked without a connection.

use core::hint::black_box;
use core::time::Duration;

use sparx64::Sparx64OnTheFly;

use crate::{AnyLayout, Layout, Lease, LeaseError, MakeTicketError, TicketError};

/// A lease for a device in 32 authenticated bytes, sent over any channel: UART, CoAP, BLE.
///
/// All numbers are big-endian:
///
/// ```text
///  0      1          4          8            16         20         24        32
///  | 1    | node id  | counter  | device id  | start    | end      | tag     |
///  | u8   | u24      | u32      | u64        | u32      | u32      | 8 bytes |
/// ```
///
/// The first byte is the version, 2 of layouts of up to 53 bits
/// ([`lease_version`](crate::LayoutSpec::lease_version)). `start` and `end` are whole seconds of
/// Unix time, in every layout; a lease of finer ticks is rounded inwards. The tag is the CMAC (NIST
/// SP 800-38B) of the 24 bytes before it with SPARX-64/128 as the cipher, under a separate key:
/// never that of the ids, because a tag would be an id. Give each device its own key, because
/// anyone who has it can forge tickets for it. A forgery succeeds with 2^-64 for each try; to see
/// `q` tickets under one key adds up to `36 q^2 / 2^64` (docs/security.md).
///
/// ```
/// use core::time::Duration;
/// use randflake_core::{Lease, Randflake, Ticket, TicketError, TicketReader};
///
/// let key = [7; 16];
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let bytes = Ticket::of(&lease, 0xd0e5, 1)?.encode(&key);
///
/// let now = Some(Duration::from_secs(1_733_706_300));
/// let mut reader = TicketReader::new(0xd0e5, 0);
/// assert_eq!(reader.accept(&bytes, &key, now), Ok(lease));
/// assert_eq!(
///     reader.accept::<Randflake>(&bytes, &key, now),
///     Err(TicketError::Replayed { counter: 1, last: 1 })
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    version: u8,
    node_id: u32,
    device_id: u64,
    counter: u32,
    start_unix_s: u32,
    end_unix_s: u32,
}

/// Largest node id that the three bytes of a ticket hold.
const MAX_NODE_ID: u32 = (1 << 24) - 1;

impl Ticket {
    /// The length of every ticket, in bytes.
    pub const LEN: usize = 32;

    /// The largest counter, 2^30 - 1: the largest that a device can [keep](crate::TicketCounter).
    pub const MAX_COUNTER: u32 = (1 << 30) - 1;

    /// The ticket of a lease for a device. Each ticket of a device has a higher counter than the
    /// one before, from 1 to [`MAX_COUNTER`](Self::MAX_COUNTER): it refuses others.
    ///
    /// # Errors
    ///
    /// [`Counter`](MakeTicketError::Counter) if the counter is outside that range, or
    /// [`Lease`](MakeTicketError::Lease) if the lease does not fit:
    ///
    /// - [`NodeId`](LeaseError::NodeId): the node id has over 24 bits;
    /// - [`Empty`](LeaseError::Empty): it does not hold a whole second (`start` and `end` are Unix
    ///   seconds here);
    /// - [`BeyondLayout`](LeaseError::BeyondLayout): it ends past 2106-02-07 06:28:15 UTC (in Unix
    ///   seconds, too).
    pub fn of<L: AnyLayout>(
        lease: &Lease<L>,
        device_id: u64,
        counter: u32,
    ) -> Result<Self, MakeTicketError> {
        // 0 is what a device has that never accepted a ticket, so it would refuse this one as
        // replayed.
        if counter == 0 || counter > Self::MAX_COUNTER {
            return Err(MakeTicketError::Counter {
                counter,
                max: Self::MAX_COUNTER,
            });
        }
        if lease.node_id() > MAX_NODE_ID {
            return Err(MakeTicketError::Lease(LeaseError::NodeId {
                value: lease.node_id(),
                max: MAX_NODE_ID,
            }));
        }
        let spec = lease.layout().spec();
        // Rounded inwards, up here and down below: a device must not use a part of a second that
        // was not leased.
        let start = spec.unix_s_from(lease.start());
        let end = Duration::from_millis(spec.unix_ms(lease.end())).as_secs();
        if start >= end {
            return Err(MakeTicketError::Lease(LeaseError::Empty { start, end }));
        }
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start_unix_s), Ok(end_unix_s)) => Ok(Self {
                version: spec.lease_version(),
                node_id: lease.node_id(),
                device_id,
                counter,
                start_unix_s,
                end_unix_s,
            }),
            _ => Err(MakeTicketError::Lease(LeaseError::BeyondLayout {
                end,
                max: u32::MAX.into(),
            })),
        }
    }

    /// Encodes and authenticates the ticket.
    #[must_use]
    pub fn encode(&self, key: &[u8; 16]) -> [u8; Self::LEN] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let body = [
            // The node id has 24 bits, as `of` has checked: the uppermost byte is the version's
            // alone.
            u64::from(self.version) << 56 | pair(self.node_id, self.counter),
            self.device_id,
            pair(self.start_unix_s, self.end_unix_s),
        ];
        let [head, device_id, times] = body;
        let words = [head, device_id, times, cmac(key, body)];
        let mut bytes = [0; Self::LEN];
        let (chunks, _) = bytes.as_chunks_mut();
        for (to, word) in chunks.iter_mut().zip(words) {
            *to = word.to_be_bytes();
        }
        bytes
    }

    /// Checks the version and the tag, then decodes. An unauthenticated ticket yields no other
    /// error about its fields.
    #[expect(clippy::cast_possible_truncation, reason = "takes halves of words")]
    fn decode(bytes: &[u8], key: &[u8; 16], allowed: u8) -> Result<Self, TicketError> {
        let (&[head, device_id, times, tag], []) = bytes.as_chunks::<8>() else {
            return Err(TicketError::Length { len: bytes.len() });
        };
        let [head, device_id, times, tag] = [head, device_id, times, tag].map(u64::from_be_bytes);
        // The one field that counts without the tag, as another version may be authenticated
        // otherwise.
        let version = (head >> 56) as u8;
        let wrong = tag ^ cmac(key, [head, device_id, times]);
        // Compared in constant time, so that timing does not help a forger.
        let is_wrong = black_box(wrong as u32 | (wrong >> 32) as u32) != 0;
        if version != allowed {
            return Err(TicketError::Version { version });
        }
        if is_wrong {
            return Err(TicketError::Forged);
        }
        Ok(Self {
            version,
            node_id: (head >> 32) as u32 & MAX_NODE_ID,
            device_id,
            counter: head as u32,
            start_unix_s: (times >> 32) as u32,
            end_unix_s: times as u32,
        })
    }

    /// The lease, in whole ticks within its times.
    fn lease<L: Layout>(&self) -> Result<Lease<L>, LeaseError> {
        let end = Duration::from_secs(self.end_unix_s.into());
        Lease::new(
            L::default(),
            self.node_id,
            // Inwards once more: the layout may have ticks that begin or end within these seconds.
            L::SPEC.tick_from(self.start_unix_s),
            L::SPEC.tick_at(end).unwrap_or(0),
        )
    }
}

/// CMAC (NIST SP 800-38B, section 6.2) of three whole blocks, all in big-endian order.
///
/// With whole blocks only, one of the two keys that it makes is used, and nothing is filled up. The
/// crate `cmac`, which takes a message of any length in parts, needs 1 kB more code on a Cortex-M0;
/// the tests compare with it.
///
/// On the fly, as four blocks do not repay a table: it takes 184 bytes less stack than the cipher
/// with one, and less code even beside ids that use the table.
fn cmac(key: &[u8; 16], [first, second, third]: [u64; 3]) -> u64 {
    /// x^4 + x^3 + x + 1, the rest of x^64 (section 5.3).
    const REST: u64 = 0x1b;
    let cipher = Sparx64OnTheFly::new(key);
    // CMAC reads a block as a big-endian number, the cipher as a little-endian one: each block is
    // swapped on its way in and out.
    let zeros = cipher.encrypt_u64(0).swap_bytes();
    // Doubled without a branch, as the bit is secret.
    let doubled = (zeros << 1) ^ ((zeros >> 63).wrapping_neg() & REST);
    let mut tag = 0;
    // The subkey goes into the last block only. It is what CMAC has over CBC-MAC, whose tags can be
    // extended to those of longer messages.
    for block in [first, second, third ^ doubled] {
        tag = cipher.encrypt_u64((tag ^ block).swap_bytes()).swap_bytes();
    }
    tag
}

/// Accepts tickets on a device, each once, and returns their leases.
///
/// It remembers the highest counter. Write [`last_counter`](Self::last_counter) to durable memory
/// if you can: a device that forgets it takes an old ticket again after a reset, while that is not
/// over. That repeats no ids if the lease is used in [`Blocks`](crate::Blocks); without them it
/// does.
#[derive(Debug)]
pub struct TicketReader {
    device_id: u64,
    last_counter: u32,
}

impl TicketReader {
    /// The reader of a device that has accepted tickets up to a counter; 0 for none.
    #[must_use]
    pub const fn new(device_id: u64, last_counter: u32) -> Self {
        Self {
            device_id,
            last_counter,
        }
    }

    /// Checks a ticket and returns its lease.
    ///
    /// Later tickets of the same lease have the same node id and start, and a later end: pass their
    /// lease to [`Generator::extend`](crate::Generator::extend). `now` is the clock's, `None` while
    /// it does not know the time; then the lease may serve as the window of
    /// [`TimeBounds`](crate::TimeBounds).
    ///
    /// # Errors
    ///
    /// Nothing has changed then; another ticket with the same counter may be accepted.
    ///
    /// - [`Length`](TicketError::Length): it does not have 32 bytes;
    /// - [`Version`](TicketError::Version): it is of another version than the layout's, or than is
    ///   known;
    /// - [`Forged`](TicketError::Forged): its tag is wrong, so it was changed or made with another
    ///   key;
    /// - [`Foreign`](TicketError::Foreign): it is another device's;
    /// - [`Replayed`](TicketError::Replayed): its counter is not above that of the last one
    ///   accepted;
    /// - [`Counter`](TicketError::Counter): its counter is above [`Ticket::MAX_COUNTER`];
    /// - [`Malformed`](TicketError::Malformed): its lease is invalid for the layout;
    /// - [`Expired`](TicketError::Expired): its lease has expired.
    pub fn accept<L: Layout>(
        &mut self,
        bytes: &[u8],
        key: &[u8; 16],
        now: Option<Duration>,
    ) -> Result<Lease<L>, TicketError> {
        let ticket = Ticket::decode(bytes, key, L::SPEC.lease_version())?;
        // Not left to the key: where devices share one, a ticket still belongs to one of them.
        if ticket.device_id != self.device_id {
            return Err(TicketError::Foreign {
                device_id: ticket.device_id,
            });
        }
        // Not above the last one: a ticket that was recorded earlier must not set the device back.
        if ticket.counter <= self.last_counter {
            return Err(TicketError::Replayed {
                counter: ticket.counter,
                last: self.last_counter,
            });
        }
        // A counter that cannot be kept durably would let this ticket in again after a reset.
        if ticket.counter > Ticket::MAX_COUNTER {
            return Err(TicketError::Counter {
                counter: ticket.counter,
                max: Ticket::MAX_COUNTER,
            });
        }
        let lease = ticket.lease().map_err(TicketError::Malformed)?;
        let end = Duration::from_secs(ticket.end_unix_s.into());
        // Skipped without a time. An expired lease is no danger to uniqueness: its ticks are nobody
        // else's.
        if let Some(since) = now.and_then(|now| now.checked_sub(end)) {
            return Err(TicketError::Expired {
                since_s: since.as_secs(),
            });
        }
        // Last of all: a ticket that was refused for any reason may be followed by one with the
        // same counter.
        self.last_counter = ticket.counter;
        Ok(lease)
    }

    /// The counter of the last ticket that was accepted.
    #[must_use]
    pub const fn last_counter(&self) -> u32 {
        self.last_counter
    }
}
