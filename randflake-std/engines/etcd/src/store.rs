//! Leases and counters in an etcd cluster.

use std::sync::Arc;

use randflake_core::Clock;

use crate::engine::Etcd;
use crate::url::ENGINE;
use randflake_lease::LeaseStore;

use randflake_lease::unstable::url::Location;
use randflake_lease::{Namespace, StoreError};

/// A store of leases and counters in an etcd cluster, 3.4 or newer, shared by the processes of many machines.
///
/// Its constructors return a [`LeaseStore`].
///
/// It uses the members' JSON gateways, and tries the next member if one does not answer. Each of these has one key: the
/// namespace's record, its counter, each node id from its first lease on, and
/// up to seventeen hints, most to free node ids; each earlier lease of the [history](LeaseStore::history); and, for each secret, the name of
/// the namespace that took it first (`randflake/#key/`).
/// An acquire and a renewal read what they need at one revision, and write if none of it has changed since: two round
/// trips; an acquire needs more when nearly all node ids are leased and none was released lately.
///
/// A request times out after a twelfth of the TTL, at most 5 s, for each member; the one that answered last is asked first.
/// Name the members one by one: of a name with several addresses, the first that takes a connection is asked, and no other
/// where it does not answer. Enable compaction (`--auto-compaction-retention`), or the
/// renewals fill the cluster's space. When it is full, every operation fails as [`StoreError::FailedPrecondition`] until there is
/// space again and the alarm `NOSPACE` is disarmed; leases granted before are kept.
///
/// If a user's token has expired, or is older than the last change of users and roles, the store logs in again within the
/// same operation.
///
/// **Clock.** etcd has no clock. The store takes the time from the `Date` header of the member's replies, and carries it on
/// between the seconds with this machine's monotonic clock. It must be within 10 s of this machine's wall clock.
///
/// **Limit.** An acquire gets up to 100 node ids, because etcd limits a transaction to 128 operations.
///
/// # What it notices
///
/// | what happened                                             | what it does                           |
/// |-----------------------------------------------------------|----------------------------------------|
/// | the namespace is missing: new, or all keys deleted        | quarantine, until declared new         |
/// | restored into a cluster of another id, or mirrored there  | refused until declared moved           |
/// | set back, and a process runs that has seen a later state  | quarantine, as soon as it looks        |
/// | set back, and a live lease has vanished                   | quarantine, as soon as its holder looks |
/// | set back between a read and its write                     | the write fails; quarantine            |
/// | the clocks of member and machine differ by more than 10 s | [`StoreError::ClockSkew`]              |
///
/// A holder keeps an idle connection to the member that answers: when it ends, or a call fails, the holder looks for its
/// leases until the cluster has answered, each twentieth of the TTL and a second at most. What others are granted before
/// that look may repeat its ids. A member with TLS logs the end of such a connection as one without a handshake.
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s; if the namespace's record is missing, at least
/// 320 s, because its longest TTL is unknown.
///
/// Another cluster than the records say may be a copy whose original is in use. It is refused as [`StoreError::FailedPrecondition`] until
/// a person declares that the original is gone ([`declare_moved`](randflake_lease::Administration::declare_moved), `randflake lease init --moved`);
/// then it is in quarantine, and live leases can be renewed.
///
/// A counter is one more key. A counter that may have gone back cannot be repaired by waiting, and nothing
/// tells a new cluster from one whose keys were deleted. So an operator begins each counter, with
/// [`Counter::create`](randflake_lease::Counter::create) (`randflake segment init`) or
/// [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`). In a cluster of another id, or one that was set back while a process ran, it fails as
/// [`CounterError::Lost`](randflake_lease::CounterError::Lost) until an operator resumes it.
///
/// # What it cannot notice
///
/// - A snapshot restored with the same cluster token and members, which gives the same id, while no process runs that has
///   seen a later state: call [`start_quarantine`](randflake_lease::Administration::start_quarantine) (`randflake lease quarantine`) before any process uses
///   it, and [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`) each counter at a higher number.
/// - The same with `--bump-revision`, by which a restored snapshot shows later revisions than the ones that were lost: only
///   the holder of a lease that it does not have notices, when it looks.
/// - Keys of leases changed or deleted by hand, until their holder renews: until then the node id may be granted again.
/// - Members that do not write to their disks (`--unsafe-no-fsync`) and lose power.
/// ```no_run
/// use randflake_lease::Namespace;
/// use randflake_etcd::EtcdStore;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = EtcdStore::open("etcd://user:password@etcd-1:2379,etcd-2:2379", &namespace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EtcdStore;

impl EtcdStore {
    /// Opens the store in the cluster of a URL, `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]`. `etcds://` is
    /// with TLS, which needs the cargo feature `tls`; `lease::open` says which certificates are trusted,
    /// and how to name the client's. The port is 2379 unless given.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::FailedPrecondition`] when a member's certificate is not
    /// trusted, or the cluster refuses the user, or has the namespace with other terms or of a newer version, or another server
    /// answers there.
    /// [`StoreError::Unavailable`] when no member answers.
    pub fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, None)
    }

    /// [`open`](EtcdStore::open) with another clock than the members', for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](EtcdStore::open).
    pub fn open_with_clock(
        url: &str,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, Some(clock))
    }

    pub(crate) fn at(
        location: &Location,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<LeaseStore, StoreError> {
        LeaseStore::opened(Etcd::over(location, namespace, clock)?, namespace.clone())
    }
}
