//! A file system of its own, whose power can be cut: ext4 in an image file, on a loop device.
//!
//! A cut is the kernel's own: `EXT4_IOC_SHUTDOWN` without a flush, as xfstests uses it. From one
//! moment on nothing more reaches the image, and what was in the page cache or in the file system's
//! open journal transaction is lost; each call of those who still run fails with `EIO`. Mounted
//! again, the file system replays its journal, as after a real cut.
//!
//! What that shows: that a program waits for the disk (`fsync`) before it answers, and can read
//! what is left. What it does not: a disk that loses what it said it had (a cache that ignores
//! flushes), or writes half a sector.
//!
//! The mounts are in a mount namespace of the thread that made the disk: threads and processes that
//! it starts afterwards see them, nobody else does, and they are gone with the last of these,
//! however the test ends.

use core::time::Duration;
use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

/// Variable with the path of `mkfs.ext4`.
const MKFS: &str = "RANDFLAKE_MKFS_EXT4";
/// `_IOR('X', 125, __u32)` and `EXT4_GOING_FLAGS_NOLOGFLUSH` of Linux's
/// `include/uapi/linux/ext4.h`.
const SHUTDOWN: libc::Ioctl = 0x8004_587d;
const WITHOUT_FLUSH: u32 = 2;
/// `FIFREEZE` and `FITHAW` of `include/uapi/linux/fs.h`, whose arguments mean nothing.
const FREEZE: libc::Ioctl = 0xc004_5877;
const THAW: libc::Ioctl = 0xc004_5878;
/// A process that was killed may keep its files open for a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// A file system, mounted until dropped. Its users must end before.
pub struct Disk {
    /// Where the image is.
    folder: TempDir,
    /// Where it is mounted.
    place: PathBuf,
}

impl Disk {
    /// An empty one. Needs root. The image takes no more space than what is written to it.
    pub fn new(megabytes: u64) -> Self {
        enter_private_mounts();
        let folder = TempDir::new().unwrap();
        let place = folder.path().join("mount");
        fs::create_dir(&place).unwrap();
        Self::under(&place, folder, megabytes)
    }

    /// One that all in a place moves to, and that is mounted there, with its image in a folder. The
    /// mounts of this thread must be private already.
    pub fn under(place: &Path, folder: TempDir, megabytes: u64) -> Self {
        let disk = Self {
            folder,
            place: place.to_owned(),
        };
        let image = File::create_new(disk.image()).unwrap();
        image.set_len(megabytes << 20).unwrap();
        let mkfs = env::var_os(MKFS).expect("`cargo xtask` sets RANDFLAKE_MKFS_EXT4");
        let mut command = Command::new(mkfs);
        // Everything now: nothing is written in the background later.
        command.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
        let owner = fs::metadata(place).unwrap();
        let owner = format!("root_owner={}:{}", owner.uid(), owner.gid());
        command.args(["-E", &owner, "-d"]).arg(place);
        succeeds(command.arg(disk.image()));
        disk.mount();
        disk
    }

    /// The folder that it is mounted on.
    pub fn path(&self) -> PathBuf {
        self.place.clone()
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn mount(&self) {
        // `noauto_da_alloc`: a rename does not write the renamed file's data by itself, as on other
        // file systems.
        let mut command = Command::new("mount");
        command.args(["-o", "loop,noauto_da_alloc"]);
        succeeds(command.arg(self.image()).arg(self.path()));
    }

    /// Cuts the power, while others are at work.
    pub fn cut(&self) {
        let root = File::open(self.path()).unwrap();
        ioctl(&root, SHUTDOWN, &WITHOUT_FLUSH).unwrap();
    }

    /// From now on every write waits. What was read before can still be read.
    pub fn freeze(&self) -> FrozenDisk {
        let root = File::open(self.path()).unwrap();
        ioctl(&root, FREEZE, &0).unwrap();
        FrozenDisk { root }
    }

    /// Mounts what is left after a cut, once those who used it have ended.
    pub fn power_on(&self) {
        unmount_when_free(&self.path());
        self.mount();
    }
}

/// A disk whose writes wait until this is dropped. A process that waits for one cannot be killed
/// before.
pub struct FrozenDisk {
    root: File,
}

impl Drop for FrozenDisk {
    fn drop(&mut self) {
        ioctl(&self.root, THAW, &0).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // `--lazy`: a test that failed may have left somebody.
        _ = unmount(&self.path(), &["--lazy"]);
    }
}

/// Unmounts once nobody has a file open there: a process that another test forks has this one's,
/// until it is another program.
pub fn unmount_when_free(path: &Path) {
    let begun = Instant::now();
    loop {
        let unmounted = unmount(path, &[]);
        if unmounted.status.success() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{unmounted:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn unmount(path: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new("umount");
    command.args(flags).arg(path).output().unwrap()
}

pub fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// From here on, what this thread and its children mount is theirs alone.
#[expect(unsafe_code, reason = "these are system calls")]
pub fn enter_private_mounts() {
    // SAFETY: the call touches no memory, and changes nothing but where this thread's paths lead.
    let entered = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    let why = io::Error::last_os_error();
    assert_eq!(entered, 0, "mounting a file system needs root: {why}");
    succeeds(Command::new("mount").args(["--make-rprivate", "/"]));
}

#[expect(unsafe_code, reason = "this is a system call")]
fn ioctl(file: &File, request: libc::Ioctl, argument: &u32) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the kernel reads one `u32` through the pointer.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), request, core::ptr::from_ref(argument)) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
