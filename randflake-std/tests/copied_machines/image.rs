//! The image that an emulated machine boots: Debian's kernel, and an archive with its drivers and
//! this very program.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::program;

const LINUX: &str = "RANDFLAKE_LINUX";
pub(crate) const SERIAL_PORT: &str = "/dev/ttyS1";
pub(crate) const RANDOM: &str = "/dev/urandom";
/// Of a network card, each behind those that it needs.
pub(crate) const DRIVERS: [&str; 8] = [
    "virtio_ring.ko",
    "virtio.ko",
    "virtio_pci_modern_dev.ko",
    "virtio_pci_legacy_dev.ko",
    "virtio_pci.ko",
    "failover.ko",
    "net_failover.ko",
    "virtio_net.ko",
];

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

pub(crate) struct Image {
    pub(crate) kernel: PathBuf,
    pub(crate) archive: PathBuf,
    /// Further words for the kernel.
    pub(crate) parameters: String,
}

impl Image {
    /// Writes the archive into a folder.
    pub(crate) fn make(folder: &Path, parameters: String) -> Self {
        let linux = program(LINUX);
        let kernels = files_below(&linux.join("boot"));
        let is_kernel = |name: &str| name.starts_with("vmlinuz-") && name.ends_with("-cloud-amd64");
        let mut kernels = kernels.into_iter().filter(|path| is_kernel(name_of(path)));
        let kernel = kernels.next().unwrap();
        let (_, version) = name_of(&kernel).split_once('-').unwrap();
        let modules = files_below(&linux.join("lib/modules").join(version).join("kernel"));

        let mut archive = Archive::default();
        archive.device("/dev/console", 5, 1);
        archive.device(SERIAL_PORT, 4, 65);
        archive.device(RANDOM, 1, 9);
        archive.add(DIRECTORY, "/sys", &[], [0, 0]);
        for driver in DRIVERS {
            let module = modules
                .iter()
                .find(|path| name_of(path) == driver)
                .unwrap_or_else(|| panic!("the kernel {version} has no {driver}"));
            archive.file(&format!("/{driver}"), module);
        }
        archive.file("/init", &stripped(folder));
        for library in libraries() {
            archive.file(library.to_str().unwrap(), &library);
            // The loader is named by another path than it is found by.
            if name_of(&library).starts_with("ld-linux") {
                archive.file(&format!("/lib64/{}", name_of(&library)), &library);
            }
        }
        let path = folder.join("archive");
        fs::write(&path, archive.finish()).unwrap();
        Self {
            kernel,
            archive: path,
            parameters,
        }
    }
}

/// This program without what debuggers want, which is most of it.
fn stripped(folder: &Path) -> PathBuf {
    let path = folder.join("program");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&path).arg(env::current_exe().unwrap());
    assert!(strip.status().unwrap().success(), "strip has failed");
    path
}

/// The shared libraries that this program runs with.
fn libraries() -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let libraries = paths.filter(|path| path.contains(".so"));
    libraries.map(PathBuf::from).collect()
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// In cpio's format "newc", as the kernel reads it:
/// `Documentation/driver-api/early-userspace/buffer-format.rst`.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
}

impl Archive {
    fn file(&mut self, name: &str, from: &Path) {
        self.add(PROGRAM, name, &fs::read(from).unwrap(), [0, 0]);
    }

    fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.add(DEVICE, name, &[], [major, minor]);
    }

    /// Adds what has an absolute path, behind the directories above it.
    fn add(&mut self, mode: u32, name: &str, content: &[u8], device: [u32; 2]) {
        let above: Vec<_> = Path::new(name).ancestors().skip(1).collect();
        for directory in above.into_iter().rev().skip(1) {
            if self.directories.insert(directory.to_owned()) {
                self.entry(DIRECTORY, directory.to_str().unwrap(), &[], [0, 0]);
            }
        }
        self.entry(mode, name, content, device);
    }

    fn entry(&mut self, mode: u32, name: &str, content: &[u8], [major, minor]: [u32; 2]) {
        let name = name.trim_start_matches('/');
        let size = u32::try_from(content.len()).unwrap();
        let name_size = u32::try_from(name.len() + 1).unwrap();
        // Inode, mode, owner, group, links, time, size, device, device that it is, length of the
        // name, checksum.
        let fields = [0, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry(0, "TRAILER!!!", &[], [0, 0]);
        self.bytes
    }
}
