//! Time of the disk alone, in the folder where the engines are.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;

use tempfile::TempDir;

/// A file system's smallest piece.
const BLOCK: usize = 4_096;

pub(crate) struct Disk {
    /// As long as it will ever be: what engines do that keep their log's files.
    fixed: File,
    /// Which grows, as the log of Redis does.
    growing: File,
    _folder: TempDir,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let create = |name| File::create(folder.path().join(name)).unwrap();
        let (fixed, growing) = (create("fixed"), create("growing"));
        fixed.write_all_at(&[0; BLOCK], 0).unwrap();
        fixed.sync_all().unwrap();
        Self {
            fixed,
            growing,
            _folder: folder,
        }
    }

    pub(crate) fn overwrite(&self) {
        self.fixed.write_all_at(&[1; BLOCK], 0).unwrap();
        self.fixed.sync_data().unwrap();
    }

    pub(crate) fn append(&mut self) {
        self.growing.write_all(&[1; BLOCK]).unwrap();
        self.growing.sync_data().unwrap();
    }
}

/// Which file system the temporary folder is on, and whether what is synchronised there is kept.
pub(crate) fn description() -> String {
    let folder = env::temp_dir().canonicalize().unwrap();
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, place, kind) = (words.next()?, words.next()?, words.next()?);
        folder
            .starts_with(place)
            .then_some((place.len(), device, kind))
    });
    // Of two at one place, the later hides the earlier.
    let (_, device, kind) = mounts
        .max_by_key(|mount| mount.0)
        .unwrap_or((0, "unknown", "unknown"));
    let fsync = match kind {
        "tmpfs" | "ramfs" => "memory, so fsync does nothing",
        _ => "fsync waits for the device",
    };
    format!("{} on {device} ({kind}: {fsync})", folder.display())
}
