//! Ids that a process has issued, in memory and a file that outlive a kill at any moment.
//!
//! Ids are written where the soak can read them before anything else is done with them: the library
//! fills memory that is shared with a file, and from there they are added to the file as runs. Of
//! ids that a call has returned, a kill loses none.

use core::mem::offset_of;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

use randflake_std::Id;

use crate::runs::Space;
use crate::runs::{Entries, RUN_BYTES, Run, append, append_run};

/// Ids of one call.
pub(crate) const BULK: usize = 1 << 14;

/// The beginning of the file, which is mapped; runs follow.
#[repr(C)]
struct Page {
    /// Runs that are complete.
    runs: AtomicU64,
    /// Ids in them, for the progress of the soak.
    ids: AtomicU64,
    calls: AtomicU64,
    refusals: AtomicU64,
    forks: AtomicU64,
    /// Ids in `buffer` that are in no run yet, if `runs` is still `pending_since`.
    pending: AtomicU64,
    pending_since: AtomicU64,
    buffer: [u64; BULK],
}

/// For the kernel to end a process that was killed, and its children.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(1);

const PAGE_BYTES: usize = size_of::<Page>();

/// The writing end.
pub(crate) struct Ledger {
    file: File,
    page: *mut Page,
    space: Space,
    raws: Vec<u64>,
    runs: Vec<Run>,
}

#[expect(
    unsafe_code,
    reason = "memory that a kill does not lose is shared memory"
)]
impl Ledger {
    /// A new one, locked until this process ends.
    pub(crate) fn create(path: &Path, space: Space) -> Self {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .unwrap();
        file.lock().unwrap();
        file.set_len(u64::try_from(PAGE_BYTES).unwrap()).unwrap();
        // SAFETY: a new mapping, of a file that is as long.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED);
        Self {
            file,
            page: page.cast(),
            space,
            raws: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn page(&self) -> &Page {
        // SAFETY: it is mapped until the process ends, and a page is valid with any bytes.
        unsafe { &*self.page }
    }

    fn room(&mut self) -> &mut [Id] {
        let begin = self
            .page
            .cast::<Id>()
            .wrapping_add(offset_of!(Page, buffer) / size_of::<Id>());
        // SAFETY: an id is a transparent integer of 8 bytes, and while this is borrowed nothing
        // else refers to the page.
        unsafe { slice::from_raw_parts_mut(begin, BULK) }
    }

    /// Room for the ids of the next calls. Those before have been added to the file.
    pub(crate) fn begin(&mut self) -> &mut [Id] {
        let page = self.page();
        page.pending.store(0, Ordering::Relaxed);
        let runs = page.runs.load(Ordering::Relaxed);
        page.pending_since.store(runs, Ordering::Release);
        self.room()
    }

    /// Takes an id behind those since [`begin`](Self::begin).
    pub(crate) fn push(&mut self, id: Id) {
        let at = self.page().pending.load(Ordering::Relaxed);
        let at = usize::try_from(at).unwrap();
        self.room()[at] = id;
        self.issued(at + 1);
    }

    /// So many ids are in the room.
    pub(crate) fn issued(&self, count: usize) {
        let count = u64::try_from(count).unwrap();
        self.page().pending.store(count, Ordering::Release);
    }

    /// Adds them to the file as runs.
    pub(crate) fn commit(&mut self) {
        let pending = self.page().pending.load(Ordering::Relaxed);
        let mut raws = core::mem::take(&mut self.raws);
        raws.clear();
        let ids = self.room()[..usize::try_from(pending).unwrap()].iter();
        raws.extend(ids.map(|id| id.to_u64()));
        self.space.raw(&mut raws);
        self.runs.clear();
        append(&mut self.runs, self.space, &raws);
        self.raws = raws;
        let begun = self.page().runs.load(Ordering::Relaxed);
        let bytes: Vec<u8> = self.runs.iter().flat_map(|run| run.to_bytes()).collect();
        let at = PAGE_BYTES + usize::try_from(begun).unwrap() * RUN_BYTES;
        self.file
            .write_all_at(&bytes, u64::try_from(at).unwrap())
            .unwrap();
        let page = self.page();
        page.ids.fetch_add(pending, Ordering::Relaxed);
        let runs = u64::try_from(self.runs.len()).unwrap();
        page.runs.store(begun + runs, Ordering::Release);
    }

    pub(crate) fn count(&self, calls: u64, refusals: u64) {
        let page = self.page();
        page.calls.fetch_add(calls, Ordering::Relaxed);
        page.refusals.fetch_add(refusals, Ordering::Relaxed);
    }

    pub(crate) fn count_fork(&self) {
        self.page().forks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until the process and its forked children have ended, and reads its ledger. Empty if it
/// had none yet.
pub(crate) fn read(path: &Path, space: Space) -> io::Result<Entries> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::default()),
        file => file?,
    };
    let begun = Instant::now();
    while let Err(error) = file.try_lock() {
        match error {
            TryLockError::WouldBlock if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            error => return Err(error.into()),
        }
    }
    let bytes = fs::read(path)?;
    if bytes.len() < PAGE_BYTES {
        return Ok(Entries::default());
    }
    let (page, rest) = bytes.split_at(PAGE_BYTES);
    let words: Vec<u64> = page
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .collect();
    let word = |offset: usize| words[offset / size_of::<u64>()];
    let count = word(offset_of!(Page, runs));
    let mut runs = Vec::new();
    let complete = rest.as_chunks().0.iter();
    for run in complete.take(usize::try_from(count).unwrap()) {
        append_run(&mut runs, Run::from_bytes(*run));
    }
    let mut pending = word(offset_of!(Page, pending));
    if word(offset_of!(Page, pending_since)) != count {
        pending = 0;
    }
    let buffer = &mut words[offset_of!(Page, buffer) / size_of::<u64>()..].to_vec();
    buffer.truncate(usize::try_from(pending).unwrap());
    space.raw(buffer);
    append(&mut runs, space, buffer);
    Ok(Entries {
        runs,
        calls: word(offset_of!(Page, calls)),
        refusals: word(offset_of!(Page, refusals)),
        forks: word(offset_of!(Page, forks)),
        pending,
        unread: None,
    })
}

/// Ids that a process has added to its ledger so far.
pub(crate) fn progress(path: &Path) -> u64 {
    let mut word = [0; size_of::<u64>()];
    let at = u64::try_from(offset_of!(Page, ids)).unwrap();
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut word, at));
    read.map_or(0, |()| u64::from_ne_bytes(word))
}
