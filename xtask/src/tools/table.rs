//! The tools. A new one is a new constant here, named in the `needs` of the part that uses it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::Unpacked::{Folder, Kernel, Library, Never, Program};
use super::find::{below, in_path, linker, program_file};
use super::{Source, Tool, cargo_deny, packages};
use crate::cargo::{output_of, program};

/// What a script passes on, and nothing else.
const AS_GIVEN: &str = r#""$@""#;

/// Debian's `python3` cannot make a virtual environment without `python3-venv`.
pub(crate) const PYTHON: Tool = Tool {
    name: "python3 with venv",
    find: || {
        let usable = |path: &PathBuf| {
            let import = ["-c", "import venv, ensurepip"];
            output_of(&mut program(&path.to_string_lossy(), &import)).is_some()
        };
        in_path("python3")
            .chain([PathBuf::from("/usr/bin/python3")])
            .find(usable)
    },
    source: packages(
        &["python3", "python3-venv"],
        Never("Debian's ensurepip looks for pip in /usr/share/python-wheels"),
    ),
};

pub(crate) const LIBFAKETIME: Tool = Tool {
    name: "libfaketime",
    find: || {
        ["/usr/lib", "/usr/local/lib"]
            .iter()
            .find_map(|lib| below(Path::new(lib), FAKETIME))
    },
    source: packages(&["libfaketime"], Library(FAKETIME)),
};

const FAKETIME: &str = "faketime/libfaketime.so.1";

pub(crate) const REDIS: Tool = Tool {
    name: "redis-server",
    find: || program_file("redis-server"),
    source: packages(&["redis-server"], Program("redis-server", AS_GIVEN)),
};

pub(crate) const REDIS_CLI: Tool = Tool {
    name: "redis-cli",
    find: || program_file("redis-cli"),
    source: packages(&["redis-tools"], Program("redis-cli", AS_GIVEN)),
};

pub(crate) const REDIS_BENCHMARK: Tool = Tool {
    name: "redis-benchmark",
    find: || program_file("redis-benchmark"),
    source: packages(&["redis-tools"], Program("redis-benchmark", AS_GIVEN)),
};

/// Any version writes what it would send.
pub(crate) const KUBECTL: Tool = Tool {
    name: "kubectl",
    find: || program_file("kubectl"),
    source: packages(&["kubernetes-client"], Program("kubectl", AS_GIVEN)),
};

/// Guides make certificates with it.
pub(crate) const OPENSSL: Tool = Tool {
    name: "openssl",
    find: || program_file("openssl"),
    source: packages(&["openssl"], Program("openssl", AS_GIVEN)),
};

/// Of the benchmark of the server.
pub(crate) const WRK: Tool = Tool {
    name: "wrk",
    find: || program_file("wrk"),
    source: packages(&["wrk"], Program("wrk", AS_GIVEN)),
};

pub(crate) const ETCD: Tool = Tool {
    name: "etcd",
    find: || program_file("etcd"),
    source: packages(&["etcd-server"], Program("etcd", AS_GIVEN)),
};

/// The folder of its programs: Debian has one for each version, and puts few of them into `PATH`.
pub(crate) const POSTGRES: Tool = Tool {
    name: "postgresql",
    find: || {
        let is_whole = |folder: &PathBuf| {
            let mut names = POSTGRES_PROGRAMS.iter();
            names.all(|name| folder.join(name).is_file())
        };
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let mut folders: Vec<_> = versions
            .flatten()
            .map(|version| version.path().join("bin"))
            .collect();
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        folders.into_iter().find(is_whole)
    },
    source: packages(&["postgresql"], Folder(POSTGRES_PROGRAMS)),
};

const POSTGRES_PROGRAMS: &[&str] = &["postgres", "initdb", "pg_basebackup"];

/// Not `mariadb-server`, which also wants its service and Perl.
const MARIADB_PACKAGES: &[&str] = &["mariadb-server-core", "mariadb-client-core"];

/// Behind the other options: `--no-defaults` must be the first.
const MARIADB_ARGUMENTS: &str = r#""$@" --basedir="$root/usr""#;

pub(crate) const MARIADB: Tool = Tool {
    name: "mariadbd",
    find: || program_file("mariadbd"),
    source: packages(MARIADB_PACKAGES, Program("mariadbd", MARIADB_ARGUMENTS)),
};

pub(crate) const MARIADB_INSTALL: Tool = Tool {
    name: "mariadb-install-db",
    find: || program_file("mariadb-install-db"),
    source: packages(
        MARIADB_PACKAGES,
        Program("mariadb-install-db", MARIADB_ARGUMENTS),
    ),
};

/// The emulated program has libraries of its own.
const QEMU_USER_ARGUMENTS: &str = r#"-U LD_LIBRARY_PATH "$@""#;

pub(crate) const QEMU_AARCH64: Tool = Tool {
    name: "qemu-aarch64",
    find: || program_file("qemu-aarch64"),
    source: packages(&["qemu-user"], Program("qemu-aarch64", QEMU_USER_ARGUMENTS)),
};

/// Of the processor that runs this.
#[cfg(target_arch = "x86_64")]
pub(crate) const QEMU_OWN: Tool = Tool {
    name: "qemu-x86_64",
    find: || program_file("qemu-x86_64"),
    source: packages(&["qemu-user"], Program("qemu-x86_64", QEMU_USER_ARGUMENTS)),
};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use QEMU_AARCH64 as QEMU_OWN;

pub(crate) const QEMU_S390X: Tool = Tool {
    name: "qemu-s390x",
    find: || program_file("qemu-s390x"),
    source: packages(&["qemu-user"], Program("qemu-s390x", QEMU_USER_ARGUMENTS)),
};

/// The C library names its parts by absolute paths.
const LINKER_ARGUMENTS: &str = r#"--sysroot="$root" "$@""#;

pub(crate) const S390X_LINKER: Tool = Tool {
    name: "s390x-linux-gnu-gcc",
    find: || linker("s390x-linux-gnu"),
    source: packages(
        &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
        Program("s390x-linux-gnu-gcc", LINKER_ARGUMENTS),
    ),
};

/// Of the server, which is not run.
pub(crate) const PROMTOOL: Tool = Tool {
    name: "promtool",
    find: || program_file("promtool"),
    source: packages(&["prometheus"], Program("promtool", AS_GIVEN)),
};

pub(crate) const SYSTEMD_ANALYZE: Tool = Tool {
    name: "systemd-analyze",
    find: || in_path("systemd-analyze").next(),
    source: packages(
        &["systemd"],
        Never("it reads the manager's own tables, and belongs to the system"),
    ),
};

/// Builds images without a service.
pub(crate) const BUILDAH: Tool = Tool {
    name: "buildah",
    find: || program_file("buildah"),
    source: packages(&["buildah"], Program("buildah", AS_GIVEN)),
};

/// Before version 20 it has WASI only when told [`NODE_WASI`], which later ones ignore.
pub(crate) const NODE: Tool = Tool {
    name: "Node.js",
    find: || {
        let has_wasi = |node: &PathBuf| {
            let import = [NODE_WASI, "--eval", "require('node:wasi')"];
            output_of(&mut program(&node.to_string_lossy(), &import)).is_some()
        };
        in_path("node").find(has_wasi)
    },
    source: packages(
        &["nodejs"],
        Never("Debian's Node.js looks for its own modules in /usr/share/nodejs"),
    ),
};

pub(crate) const NODE_WASI: &str = "--experimental-wasi-unstable-preview1";

/// Its package manager, which brings the libraries of tests in JavaScript.
pub(crate) const NPM: Tool = Tool {
    name: "npm",
    find: || in_path("npm").next(),
    source: packages(
        &["npm"],
        Never("Debian's npm looks for its own modules in /usr/share/nodejs"),
    ),
};

/// A browser needs fonts to show text.
pub(crate) const CHROMIUM: Tool = Tool {
    name: "chromium",
    find: || program_file("chromium"),
    source: packages(
        &["chromium", "fonts-dejavu-core"],
        Never("Debian's script looks for the browser in /usr/lib/chromium"),
    ),
};

/// Also what mounts the file system.
pub(crate) const MKFS_EXT4: Tool = Tool {
    name: "mkfs.ext4",
    find: || program_file("mkfs.ext4"),
    source: packages(
        &["e2fsprogs", "mount"],
        Never("it belongs to the system that mounts what it makes"),
    ),
};

pub(crate) const IP: Tool = Tool {
    name: "ip",
    find: || program_file("ip"),
    source: packages(&["iproute2"], Program("ip", AS_GIVEN)),
};

/// What a board's chips hold.
const QEMU_SYSTEM_ARGUMENTS: &str = r#""$@" -L "$root/usr/share/qemu""#;

pub(crate) const QEMU_ARM: Tool = Tool {
    name: "qemu-system-arm",
    find: || in_path("qemu-system-arm").next(),
    source: packages(
        &["qemu-system-arm"],
        Program("qemu-system-arm", QEMU_SYSTEM_ARGUMENTS),
    ),
};

pub(crate) const QEMU_RISCV: Tool = Tool {
    name: "qemu-system-riscv32",
    find: || in_path("qemu-system-riscv32").next(),
    source: packages(
        &["qemu-system-misc"],
        Program("qemu-system-riscv32", QEMU_SYSTEM_ARGUMENTS),
    ),
};

/// Debian keeps firmware in folders beside that of the emulator.
const QEMU_X86_ARGUMENTS: &str = r#""$@" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios""#;

pub(crate) const QEMU_X86: Tool = Tool {
    name: "qemu-system-x86_64",
    find: || in_path("qemu-system-x86_64").next(),
    source: packages(
        &["qemu-system-x86"],
        Program("qemu-system-x86_64", QEMU_X86_ARGUMENTS),
    ),
};

/// The folder with its `boot` and `lib/modules`. The one that this machine runs may lack the drivers of an emulated one.
pub(crate) const LINUX: Tool = Tool {
    name: "linux for virtual machines",
    find: || {
        let files = fs::read_dir("/boot").into_iter().flatten().flatten();
        let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let is_cloud =
            |name: String| name.starts_with("vmlinuz-") && name.ends_with("-cloud-amd64");
        names.any(is_cloud).then(|| "/".into())
    },
    source: packages(&["linux-image-cloud-amd64"], Kernel),
};

/// For all machines at once: a cross compiler for each takes twenty times the room. What it compiles is linked by Rust's
/// linker.
pub(crate) const CLANG: Tool = Tool {
    name: "clang",
    find: || program_file("clang"),
    source: packages(&["clang"], Program("clang", AS_GIVEN)),
};

/// With the C library, whose start it links.
pub(crate) const AVR_LINKER: Tool = Tool {
    name: "avr-gcc",
    find: || {
        let library = Path::new("/usr/lib/avr/lib/libc.a");
        program_file("avr-gcc").filter(|_| library.is_file())
    },
    source: packages(&["gcc-avr", "avr-libc"], Program("avr-gcc", AS_GIVEN)),
};

pub(crate) const SIMAVR: Tool = Tool {
    name: "simavr",
    find: || program_file("simavr"),
    source: packages(&["simavr"], Program("simavr", AS_GIVEN)),
};

pub(crate) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    find: cargo_deny::find,
    source: Source::CargoDeny,
};
