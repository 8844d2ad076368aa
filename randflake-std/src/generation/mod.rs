//! A number that the platform changes when it resumes a copy of this machine.

use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::io;

#[cfg(target_os = "linux")]
mod vmclock;
#[cfg(not(target_os = "linux"))]
use other as os;
#[cfg(target_os = "linux")]
use vmclock as os;

/// A number that changes when a copy of this machine or process is resumed: see
/// [`Builder::generation`](crate::Builder::generation).
///
/// It is a word in memory, so reading it costs one load. Its values do not matter, as long as each
/// resumption brings a new one. A program that restores processes from an image, without a virtual
/// machine, changes a word of its own before anything else runs:
///
/// ```
/// use core::sync::atomic::{AtomicU64, Ordering};
/// use randflake_std::lease::{MemoryStore, Namespace};
/// use randflake_std::{GenerateError, Handle, Randflake, Secret};
/// use std::time::Duration;
///
/// static RESUMED: AtomicU64 = AtomicU64::new(0);
///
/// let store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
/// let ids = Handle::builder(&Secret::generate()?, store).generation(&RESUMED).build()?;
/// let first = ids.lease().leases[0];
///
/// // In what runs after a restore:
/// RESUMED.fetch_add(1, Ordering::SeqCst);
///
/// assert_eq!(ids.generate(), Err(GenerateError::Copied));
/// ids.generate_wait(Duration::from_secs(5))?; // The keeper has acquired another lease.
/// assert_ne!(ids.lease().leases[0].node_id(), first.node_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Generation(&'static AtomicU64);

impl Generation {
    /// Maps the number that a hypervisor changes whenever it resumes this virtual machine from a
    /// saved state: the `vm_generation_counter` of `/dev/vmclock0`. It needs Linux 7.0 and a
    /// hypervisor that provides it, such as Firecracker.
    ///
    /// The page stays mapped until the process ends.
    ///
    /// # Errors
    ///
    /// - [`NotFound`](io::ErrorKind::NotFound): the machine has no such device;
    /// - [`PermissionDenied`](io::ErrorKind::PermissionDenied): only root can read it, unless a
    ///   udev rule changes that;
    /// - [`Unsupported`](io::ErrorKind::Unsupported): the hypervisor does not maintain the number,
    ///   or this is not Linux;
    /// - [`InvalidData`](io::ErrorKind::InvalidData): the device is of another kind.
    pub fn of_virtual_machine() -> Result<Self, io::Error> {
        os::map().map(Self)
    }

    /// A number that never changes, for handles that watch none.
    pub(crate) fn constant() -> Self {
        static NEVER_WRITTEN: AtomicU64 = AtomicU64::new(0);
        Self(&NEVER_WRITTEN)
    }

    /// Reads the current number.
    ///
    /// A copied process continues in the middle of its code. So the number must be read exactly
    /// here: after the ids were taken that it decides on.
    #[inline]
    pub(crate) fn now(self) -> u64 {
        compiler_fence(Ordering::SeqCst);
        // Relaxed: only such a load is allowed from a page that cannot be written.
        let number = self.0.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        number
    }
}

/// Watches a word that the caller changes when a copy is resumed.
impl From<&'static AtomicU64> for Generation {
    fn from(word: &'static AtomicU64) -> Self {
        Self(word)
    }
}

impl Debug for Generation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Generation").field(&self.now()).finish()
    }
}

/// Systems other than Linux, which show no generation number.
#[cfg(not(target_os = "linux"))]
mod other {
    use core::sync::atomic::AtomicU64;
    use std::io;

    pub(super) fn map() -> Result<&'static AtomicU64, io::Error> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the number of a virtual machine's generation is known on Linux only",
        ))
    }
}
