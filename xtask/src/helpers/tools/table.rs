//! The tools. A new one is a new constant here, named in the `needs` of the part that uses it.

use std::env;
use std::path::{Path, PathBuf};

use super::Unpacked::{Folder, Kernel, Never, Script};
use super::find::{below, in_path, linker, program_file};
use super::{Tool, debian};
use crate::helpers::cargo::{output_of, program};
use crate::helpers::files;

/// Debian's `python3` cannot make a virtual environment without `python3-venv`.
pub(crate) const PYTHON: Tool = Tool {
    name: "python3 with venv",
    find: |_| python_that("import venv, ensurepip"),
    packages: &["python3", "python3-venv"],
    unpacked: Never,
};

/// Some builds of Python load no extensions of SQLite.
pub(crate) const PYTHON_SQLITE: Tool = Tool {
    name: "python3 that loads extensions of SQLite",
    find: |_| {
        python_that("import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)")
    },
    packages: &["python3"],
    unpacked: Never,
};

/// The first Python that runs this.
fn python_that(runs: &str) -> Option<PathBuf> {
    let mut all = in_path("python3").chain([PathBuf::from("/usr/bin/python3")]);
    all.find(|python| output_of(program(python, "-c").arg(runs)).is_some())
}

/// The command line.
pub(crate) const SQLITE: Tool = debian("sqlite3", &["sqlite3"]);

pub(crate) const LIBFAKETIME: Tool = Tool {
    name: "libfaketime",
    find: |_| {
        ["/usr/lib", "/usr/local/lib"]
            .iter()
            .find_map(|lib| below(Path::new(lib), FAKETIME))
    },
    packages: &["libfaketime"],
    unpacked: Never,
};

const FAKETIME: &str = "faketime/libfaketime.so.1";

pub(crate) const REDIS: Tool = debian("redis-server", &["redis-server"]);

pub(crate) const REDIS_CLI: Tool = debian("redis-cli", &["redis-tools"]);

pub(crate) const REDIS_BENCHMARK: Tool = debian("redis-benchmark", &["redis-tools"]);

/// Any version writes what it would send.
pub(crate) const KUBECTL: Tool = debian("kubectl", &["kubernetes-client"]);

/// Guides make certificates with it.
pub(crate) const OPENSSL: Tool = debian("openssl", &["openssl"]);

/// Of the benchmark of the server.
pub(crate) const WRK: Tool = debian("wrk", &["wrk"]);

/// What tells random numbers from others.
pub(crate) const DIEHARDER: Tool = debian("dieharder", &["dieharder"]);

/// What Redis' own tests are written in.
pub(crate) const TCLSH: Tool = debian("tclsh", &["tcl"]);

pub(crate) const ETCD: Tool = debian("etcd", &["etcd-server"]);

/// The folder of its programs: Debian has one for each version, and puts few of them into `PATH`.
pub(crate) const POSTGRES: Tool = Tool {
    name: "postgresql",
    find: |_| {
        let versions = files::entries(Path::new("/usr/lib/postgresql")).into_iter();
        let path = env::var_os("PATH").unwrap_or_default();
        let mut folders = versions
            .map(|version| version.join("bin"))
            .chain(env::split_paths(&path));
        folders.find(|folder| {
            POSTGRES_PROGRAMS
                .iter()
                .all(|name| folder.join(name).is_file())
        })
    },
    packages: &["postgresql"],
    unpacked: Folder(POSTGRES_PROGRAMS),
};

const POSTGRES_PROGRAMS: &[&str] = &["postgres", "initdb", "pg_basebackup", "pg_dump", "psql"];

/// Not `mariadb-server`, which also wants its service and Perl.
const MARIADB_PACKAGES: &[&str] = &["mariadb-server-core", "mariadb-client-core"];

/// Behind the other options: `--no-defaults` must be the first.
const MARIADB_ARGUMENTS: &str = r#""$@" --basedir="$root/usr""#;

pub(crate) const MARIADB: Tool = Tool {
    unpacked: Script(MARIADB_ARGUMENTS),
    ..debian("mariadbd", MARIADB_PACKAGES)
};

pub(crate) const MARIADB_INSTALL: Tool = Tool {
    unpacked: Script(MARIADB_ARGUMENTS),
    ..debian("mariadb-install-db", MARIADB_PACKAGES)
};

/// The emulated program has libraries of its own.
const QEMU_USER_ARGUMENTS: &str = r#"-U LD_LIBRARY_PATH "$@""#;

pub(crate) const QEMU_AARCH64: Tool = Tool {
    unpacked: Script(QEMU_USER_ARGUMENTS),
    ..debian("qemu-aarch64", &["qemu-user"])
};

/// Of the processor that runs this.
#[cfg(target_arch = "x86_64")]
pub(crate) const QEMU_OWN: Tool = Tool {
    unpacked: Script(QEMU_USER_ARGUMENTS),
    ..debian("qemu-x86_64", &["qemu-user"])
};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use QEMU_AARCH64 as QEMU_OWN;

pub(crate) const QEMU_S390X: Tool = Tool {
    unpacked: Script(QEMU_USER_ARGUMENTS),
    ..debian("qemu-s390x", &["qemu-user"])
};

pub(crate) const S390X_LINKER: Tool = Tool {
    name: "s390x-linux-gnu-gcc",
    find: |_| linker("s390x-linux-gnu"),
    packages: &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
    unpacked: Never,
};

/// Of the server, which is not run.
pub(crate) const PROMTOOL: Tool = debian("promtool", &["prometheus"]);

pub(crate) const SYSTEMD_ANALYZE: Tool = Tool {
    unpacked: Never,
    ..debian("systemd-analyze", &["systemd"])
};

/// Builds images without a service.
pub(crate) const BUILDAH: Tool = debian("buildah", &["buildah"]);

/// Before version 20 it has WASI only when told [`NODE_WASI`], which later ones ignore.
pub(crate) const NODE: Tool = Tool {
    name: "Node.js",
    find: |_| {
        let import = "require('node:wasi')";
        in_path("node")
            .find(|node| output_of(program(node, NODE_WASI).args(["--eval", import])).is_some())
    },
    packages: &["nodejs"],
    unpacked: Never,
};

pub(crate) const NODE_WASI: &str = "--experimental-wasi-unstable-preview1";

/// Its package manager, which brings the libraries of tests in JavaScript.
pub(crate) const NPM: Tool = Tool {
    unpacked: Never,
    ..debian("npm", &["npm"])
};

/// A browser needs fonts to show text.
pub(crate) const CHROMIUM: Tool = Tool {
    unpacked: Never,
    ..debian("chromium", &["chromium", "fonts-dejavu-core"])
};

/// Also what mounts the file system.
pub(crate) const MKFS_EXT4: Tool = Tool {
    unpacked: Never,
    ..debian("mkfs.ext4", &["e2fsprogs", "mount"])
};

pub(crate) const IP: Tool = debian("ip", &["iproute2"]);

/// What a board's chips hold.
const QEMU_SYSTEM_ARGUMENTS: &str = r#""$@" -L "$root/usr/share/qemu""#;

pub(crate) const QEMU_ARM: Tool = Tool {
    unpacked: Script(QEMU_SYSTEM_ARGUMENTS),
    ..debian("qemu-system-arm", &["qemu-system-arm"])
};

pub(crate) const QEMU_RISCV: Tool = Tool {
    unpacked: Script(QEMU_SYSTEM_ARGUMENTS),
    ..debian("qemu-system-riscv32", &["qemu-system-misc"])
};

/// Debian keeps firmware in folders beside that of the emulator.
const QEMU_X86_ARGUMENTS: &str = r#""$@" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios""#;

pub(crate) const QEMU_X86: Tool = Tool {
    unpacked: Script(QEMU_X86_ARGUMENTS),
    ..debian("qemu-system-x86_64", &["qemu-system-x86"])
};

/// The folder with its `boot` and `lib/modules`. The one that this machine runs may lack the
/// drivers of an emulated one.
pub(crate) const LINUX: Tool = Tool {
    name: "linux for virtual machines",
    find: |_| {
        let is_cloud = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.starts_with("/boot/vmlinuz-") && path.ends_with("-cloud-amd64")
        };
        files::entries(Path::new("/boot"))
            .iter()
            .any(is_cloud)
            .then(|| "/".into())
    },
    packages: &["linux-image-cloud-amd64"],
    unpacked: Kernel,
};

/// For all machines at once: a cross compiler for each takes twenty times the room. What it
/// compiles is linked by Rust's linker.
pub(crate) const CLANG: Tool = debian("clang", &["clang"]);

/// Of any machine's archives.
pub(crate) const AR: Tool = debian("ar", &["binutils"]);

/// For C++, and for C by `-x c`.
pub(crate) const GCC: Tool = debian("g++", &["g++"]);

/// With the C library, whose start it links.
pub(crate) const AVR_LINKER: Tool = Tool {
    find: |name| {
        let library = Path::new("/usr/lib/avr/lib/libc.a");
        program_file(name).filter(|_| library.is_file())
    },
    ..debian("avr-gcc", &["gcc-avr", "avr-libc"])
};

pub(crate) const SIMAVR: Tool = debian("simavr", &["simavr"]);

/// Without the C library's symbols it does not start.
pub(crate) const VALGRIND: Tool = Tool {
    unpacked: Never,
    ..debian("valgrind", &["valgrind", "libc6-dbg"])
};

/// Packages and the services that they enable for the next boot.
pub(super) const SERVICES: &[(&str, &str)] = &[
    ("redis-server", "redis-server.service"),
    ("etcd-server", "etcd.service"),
    ("postgresql", "postgresql.service"),
    ("prometheus", "prometheus.service"),
];
