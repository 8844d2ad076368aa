//! Tools from outside Rust: how each is found, and what brings it on Debian. A new one is a new constant here, named
//! in the `needs` of the part that uses it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::cargo::{output_of, program, shown};

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) find: fn() -> Option<PathBuf>,
    pub(crate) packages: &'static [&'static str],
}

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
    packages: &["python3", "python3-venv"],
};

pub(crate) const LIBFAKETIME: Tool = Tool {
    name: "libfaketime",
    find: || {
        ["/usr/lib", "/usr/local/lib"]
            .iter()
            .find_map(|lib| below(Path::new(lib), "faketime/libfaketime.so.1"))
    },
    packages: &["libfaketime"],
};

pub(crate) const REDIS: Tool = Tool {
    name: "redis-server",
    find: || program_file("redis-server"),
    packages: &["redis-server"],
};

pub(crate) const ETCD: Tool = Tool {
    name: "etcd",
    find: || program_file("etcd"),
    packages: &["etcd-server"],
};

/// The folder of its programs: Debian has one for each version, and puts few of them into `PATH`.
pub(crate) const POSTGRES: Tool = Tool {
    name: "postgresql",
    find: || {
        let is_whole = |folder: &PathBuf| {
            let mut names = ["postgres", "initdb", "pg_basebackup"].iter();
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
    packages: &["postgresql"],
};

pub(crate) const MARIADB: Tool = Tool {
    name: "mariadbd",
    find: || program_file("mariadbd"),
    packages: &["mariadb-server"],
};

pub(crate) const MARIADB_INSTALL: Tool = Tool {
    name: "mariadb-install-db",
    find: || program_file("mariadb-install-db"),
    packages: &["mariadb-server"],
};

/// With `mount`, which small images leave out as well.
pub(crate) const MKFS_EXT4: Tool = Tool {
    name: "mkfs.ext4",
    find: || program_file("mkfs.ext4").filter(|_| program_file("mount").is_some()),
    packages: &["e2fsprogs", "mount"],
};

pub(crate) const IP: Tool = Tool {
    name: "ip",
    find: || program_file("ip"),
    packages: &["iproute2"],
};

pub(crate) const QEMU_AARCH64: Tool = Tool {
    name: "qemu-aarch64",
    find: || program_file("qemu-aarch64"),
    packages: &["qemu-user"],
};

pub(crate) const QEMU_S390X: Tool = Tool {
    name: "qemu-s390x",
    find: || program_file("qemu-s390x"),
    packages: &["qemu-user"],
};

/// With the C library, which the compiler only recommends.
pub(crate) const AARCH64_LINKER: Tool = Tool {
    name: "aarch64-linux-gnu-gcc",
    find: || linker("aarch64-linux-gnu"),
    packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
};

pub(crate) const S390X_LINKER: Tool = Tool {
    name: "s390x-linux-gnu-gcc",
    find: || linker("s390x-linux-gnu"),
    packages: &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
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
    packages: &["nodejs"],
};

pub(crate) const NODE_WASI: &str = "--experimental-wasi-unstable-preview1";

/// A cross compiler, if the machine's C library is there too.
fn linker(machine: &str) -> Option<PathBuf> {
    let library = Path::new("/usr").join(machine).join("lib/libc.so");
    let compiler = program_file(&format!("{machine}-gcc"));
    compiler.filter(|_| library.is_file())
}

/// The services of packages above, which apt would start now and at every boot.
const SERVICES: &[(&str, &str)] = &[
    ("redis-server", "redis-server.service"),
    ("etcd-server", "etcd.service"),
    ("postgresql", "postgresql.service"),
    ("mariadb-server", "mariadb.service"),
];

/// A program in `PATH`, or where only an administrator's `PATH` leads.
fn program_file(name: &str) -> Option<PathBuf> {
    let others = ["/usr/sbin", "/usr/local/sbin"].map(|folder| Path::new(folder).join(name));
    in_path(name).chain(others).find(|file| file.is_file())
}

pub(crate) const QEMU_ARM: Tool = Tool {
    name: "qemu-system-arm",
    find: || in_path("qemu-system-arm").next(),
    packages: &["qemu-system-arm"],
};

pub(crate) const QEMU_RISCV: Tool = Tool {
    name: "qemu-system-riscv32",
    find: || in_path("qemu-system-riscv32").next(),
    packages: &["qemu-system-misc"],
};

/// With the C library, whose start it links.
pub(crate) const AVR_LINKER: Tool = Tool {
    name: "avr-gcc",
    find: || {
        let library = Path::new("/usr/lib/avr/lib/libc.a");
        program_file("avr-gcc").filter(|_| library.is_file())
    },
    packages: &["gcc-avr", "avr-libc"],
};

pub(crate) const SIMAVR: Tool = Tool {
    name: "simavr",
    find: || program_file("simavr"),
    packages: &["simavr"],
};

/// All programs of a name, in the order of `PATH`.
fn in_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = env::split_paths(&path).collect();
    directories
        .into_iter()
        .map(move |directory| directory.join(name))
        .filter(|file| file.is_file())
}

/// `file` in `directory` or in a folder of it: libraries stand below a folder named after the machine.
fn below(directory: &Path, file: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    [directory.to_owned()]
        .into_iter()
        .chain(folders)
        .map(|folder| folder.join(file))
        .find(|path| path.is_file())
}

/// The tools that are not there.
pub(crate) fn missing(tools: &[&'static Tool]) -> Vec<&'static Tool> {
    tools
        .iter()
        .copied()
        .filter(|tool| (tool.find)().is_none())
        .collect()
}

/// What a user types to get them.
pub(crate) fn apt_command(tools: &[&Tool]) -> String {
    format!(
        "sudo apt-get update && sudo apt-get {}",
        apt_arguments(tools).join(" ")
    )
}

/// Installs them where that can be done without asking: on Debian and its kin, as root.
pub(crate) fn install(tools: &[&Tool]) {
    let is_root = output_of(&mut program("id", &["-u"])).is_some_and(|id| id == "0");
    if !is_root || in_path("apt-get").next().is_none() {
        return;
    }
    let _nothing_starts = NothingStarts::new();
    for arguments in [vec!["update", "--quiet"], apt_arguments(tools)] {
        run(program("apt-get", &arguments).env("DEBIAN_FRONTEND", "noninteractive"));
    }
    let services = services(tools);
    if !services.is_empty() && in_path("systemctl").next().is_some() {
        run(&mut program(
            "systemctl",
            &[&["disable", "--quiet"], &*services].concat(),
        ));
    }
}

/// What counts is whether the tools are there afterwards.
fn run(command: &mut Command) {
    println!("\n$ {}", shown(command));
    _ = command.status();
}

/// What the tools' packages would start.
fn services(tools: &[&Tool]) -> Vec<&'static str> {
    let brought = |package: &&str| tools.iter().any(|tool| tool.packages.contains(package));
    let services = SERVICES.iter().filter(|(package, _)| brought(package));
    services.map(|&(_, service)| service).collect()
}

/// While it lives, no package that is being installed starts a service: tests start servers of their own.
struct NothingStarts {
    /// The file that says so, unless somebody else has put one there.
    file: Option<&'static Path>,
}

impl NothingStarts {
    fn new() -> Self {
        let file = Path::new("/usr/sbin/policy-rc.d");
        let written = !file.exists()
            && fs::write(file, "#!/bin/sh\nexit 101\n").is_ok()
            && run_quietly(program("chmod", &["755", &file.to_string_lossy()]));
        Self {
            file: written.then_some(file),
        }
    }
}

impl Drop for NothingStarts {
    fn drop(&mut self) {
        if let Some(file) = self.file {
            _ = fs::remove_file(file);
        }
    }
}

fn run_quietly(mut command: Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Never at the cost of a package that is already there.
fn apt_arguments(tools: &[&Tool]) -> Vec<&'static str> {
    let mut arguments = vec!["install", "--yes", "--no-install-recommends", "--no-remove"];
    arguments.extend(tools.iter().flat_map(|tool| tool.packages));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const ABSENT: Tool = Tool {
        name: "absent",
        find: || None,
        packages: &["one", "two"],
    };
    const PRESENT: Tool = Tool {
        name: "present",
        find: || Some(PathBuf::new()),
        packages: &["three"],
    };

    #[test]
    fn one_command_brings_all_that_is_missing() {
        let missing = missing(&[&ABSENT, &PRESENT]);
        assert_eq!(
            missing.iter().map(|tool| tool.name).collect::<Vec<_>>(),
            ["absent"]
        );
        let command = apt_command(&missing);
        assert!(
            command.starts_with("sudo apt-get update && sudo apt-get install"),
            "{command}"
        );
        assert!(command.ends_with(" one two"), "{command}");
    }

    #[test]
    fn services_are_those_of_what_is_installed() {
        assert_eq!(services(&[&ETCD, &PYTHON]), ["etcd.service"]);
    }

    #[test]
    fn files_are_found_in_a_folder_and_one_below() {
        let scratch = Scratch::new("below-test").unwrap();
        assert_eq!(below(scratch.path(), "a/b"), None);
        let folder = scratch.path().join("machine/a");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("b"), "").unwrap();
        assert_eq!(below(scratch.path(), "a/b"), Some(folder.join("b")));
    }
}
