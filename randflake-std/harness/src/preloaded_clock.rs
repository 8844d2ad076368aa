//! A wall clock of one's own for a server that libfaketime breaks, by a library that is compiled
//! here.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// How far off a server's wall clock is; it may be stepped while the server runs.
pub struct PreloadedClock {
    folder: TempDir,
    offset: fs::File,
}

impl PreloadedClock {
    /// Off by so many milliseconds.
    pub fn off_by_ms(ms: i64) -> Self {
        let folder = TempDir::new().unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(folder.path().join("wall_clock.so"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/wall_clock.c"))
            .status()
            .unwrap();
        assert!(compiled.success(), "cc: {compiled}");
        let offset = fs::File::create(folder.path().join("offset")).unwrap();
        let clock = Self { folder, offset };
        clock.set_ms(ms);
        clock
    }

    pub fn set_ms(&self, ms: i64) {
        self.offset.write_all_at(&ms.to_ne_bytes(), 0).unwrap();
    }

    /// What a process needs that goes by this clock.
    pub fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let file = |name| self.folder.path().join(name);
        [
            ("LD_PRELOAD", file("wall_clock.so")),
            ("WALL_CLOCK_FILE", file("offset")),
        ]
    }
}
