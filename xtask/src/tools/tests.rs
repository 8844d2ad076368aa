//! What is done after each of apt's answers. They were recorded on Debian 12 with `qemu-utils` of backports installed.

use core::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Unpacked::{self, Kernel, Library, Never, Program};
use super::apt::Apt;
use super::ask::{Answer, ask};
use super::bring::bring;
use crate::cargo::shown;
use crate::scratch::Scratch;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("answers/", $name, ".txt"))
    };
}

const QEMU: &str = "qemu-system-arm";
const REDIS: &str = "redis-server";
const SIMULATE_QEMU: &str = "--simulate install --no-install-recommends qemu-system-arm";
const SIMULATE_REDIS: &str = "--simulate install --no-install-recommends redis-server";
const INSTALL: &str = "apt-get install";
const DOWNLOAD: &str = "download --quiet";
const DONE: &str = "exit 0\n";
/// A program that says what it was given.
const PROGRAM: &str = "#!/bin/sh\necho \"$LD_LIBRARY_PATH\" \"$@\"\n";

/// A system that gives recorded answers.
struct System {
    /// What a command contains, and the answer to it.
    answers: Vec<(String, String)>,
    /// What each package has.
    program: (&'static str, &'static str),
    asked: RefCell<Vec<String>>,
    scratch: Scratch,
}

impl System {
    fn new(test: &str, answers: &[(&str, &str)]) -> Self {
        let owned = |(part, answer): &(&str, &str)| ((*part).to_owned(), (*answer).to_owned());
        Self {
            answers: answers.iter().map(owned).collect(),
            program: ("usr/bin/qemu-system-arm", PROGRAM),
            asked: RefCell::default(),
            scratch: Scratch::new(&format!("tools-{test}")).unwrap(),
        }
    }

    fn bring(&self, is_root: bool, package: &str, unpacked: &Unpacked) -> Result<String, String> {
        let apt = Apt {
            ask: &|command| self.answer(command),
            is_root,
            lists: self.scratch.path().join("lists"),
        };
        bring(&apt, &[package], unpacked, &self.folder(package))
    }

    fn folder(&self, package: &str) -> PathBuf {
        self.scratch.path().join(package)
    }

    fn answer(&self, command: &mut Command) -> Answer {
        let line = shown(command);
        self.asked.borrow_mut().push(line.clone());
        let mut answers = self.answers.iter();
        if let Some((_, text)) = answers.find(|(part, _)| line.contains(part)) {
            let (text, code) = text.trim_end().rsplit_once("exit ").unwrap_or((text, "0"));
            return Answer {
                code: Some(code.parse().unwrap()),
                text: text.to_owned(),
            };
        }
        if line.contains(DOWNLOAD) {
            fs::write(command.get_current_dir().unwrap().join("a.deb"), "").unwrap();
        } else if line.starts_with("dpkg-deb --extract") {
            self.extract(Path::new(command.get_args().last().unwrap()));
        } else {
            assert!(line.ends_with("/run/qemu-system-arm --version"), "{line}");
            return ask(command);
        }
        Answer {
            code: Some(0),
            text: String::new(),
        }
    }

    fn extract(&self, folder: &Path) {
        fs::create_dir_all(folder.join("usr/lib/x86_64-linux-gnu")).unwrap();
        let (path, text) = self.program;
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The one command that contains something.
    fn asked(&self, part: &str) -> String {
        let asked = self.asked.borrow();
        let mut found = asked.iter().filter(|line| line.contains(part));
        let line = found
            .next()
            .unwrap_or_else(|| panic!("no {part}: {asked:?}"));
        assert_eq!(found.next(), None);
        line.clone()
    }

    fn has_asked(&self, part: &str) -> bool {
        self.asked.borrow().iter().any(|line| line.contains(part))
    }
}

fn qemu() -> Unpacked {
    Program(QEMU, r#""$@" -L "$root/usr/share/qemu""#)
}

#[test]
fn a_conflict_takes_no_other_tool_down() {
    let system = System::new(
        "conflict",
        &[
            (SIMULATE_QEMU, recorded!("conflict")),
            (SIMULATE_REDIS, recorded!("new")),
            (INSTALL, DONE),
        ],
    );
    let done = system.bring(true, QEMU, &qemu()).unwrap();
    assert!(
        done.starts_with(
            "unpacked qemu-system-arm, qemu-system-data, qemu-system-common and 22 more into "
        ),
        "{done}"
    );
    assert!(
        done.ends_with("because apt would remove qemu-utils"),
        "{done}"
    );
    assert!(!system.has_asked(INSTALL));
    let download = system.asked(DOWNLOAD);
    assert!(
        download.contains(" qemu-system-common=1:7.2+dfsg-7+deb12u18+b3 "),
        "{download}"
    );
    assert!(!download.contains("qemu-utils"), "{download}");

    let done = system.bring(true, REDIS, &Program(REDIS, "")).unwrap();
    assert_eq!(
        done,
        "installed redis-server, redis-tools, liblzf1 and 1 more"
    );
    let install = system.asked(INSTALL);
    assert!(install.contains(" --no-remove --no-upgrade "), "{install}");
    assert!(install.ends_with(" redis-server"), "{install}");
}

#[test]
fn an_unpacked_program_has_its_libraries_and_data() {
    let system = System::new("script", &[(SIMULATE_QEMU, recorded!("conflict"))]);
    system.bring(true, QEMU, &qemu()).unwrap();
    let folder = system.folder(QEMU);
    let script = folder.join("run/qemu-system-arm");
    let mut command = Command::new(&script);
    let answer = ask(command.args(["-M", "a b"]).env_remove("LD_LIBRARY_PATH"));
    let root = format!("{}/..", script.parent().unwrap().display());
    assert_eq!(
        answer.text,
        format!("{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib -M a b -L {root}/usr/share/qemu\n")
    );
    for path in [&folder, &script] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{}", path.display());
    }
}

#[test]
fn nothing_is_upgraded() {
    let system = System::new("upgrade", &[("mariadb-server", recorded!("upgrade"))]);
    let unpacked = Program("absent", "");
    // Its packages are downloaded: that is answered by the plan too, and brings no file.
    let error = system.bring(true, "mariadb-server", &unpacked).unwrap_err();
    assert!(
        error.starts_with("apt would upgrade libperl5.36, perl, perl-base, perl-modules-5.36; "),
        "{error}"
    );
    assert!(!system.has_asked(INSTALL));
    // In the version that it was to be upgraded to.
    let download = system.asked(DOWNLOAD);
    assert!(
        download.contains(" perl-base=5.36.0-7+deb12u4 "),
        "{download}"
    );
}

#[test]
fn what_a_held_package_forbids_is_unpacked_with_all_that_is_not_installed() {
    // An older loader than apt offers.
    let installed =
        recorded!("held_installed").replace("libc6=2.36-9+deb12u14", "libc6=2.36-9+deb12u10");
    assert!(installed.contains("libc6=2.36-9+deb12u10"));
    let system = System::new(
        "held",
        &[
            (
                "Dir::State::status=/dev/null",
                recorded!("held_from_nothing"),
            ),
            ("dpkg-query", &installed),
            (SIMULATE_QEMU, recorded!("held")),
        ],
    );
    let done = system.bring(true, QEMU, &qemu()).unwrap();
    assert!(
        done.contains("because apt cannot install it (Error, pkgProblemResolver"),
        "{done}"
    );
    let download = system.asked(DOWNLOAD);
    for package in [" qemu-system-common=", " libfdt1="] {
        assert!(download.contains(package), "{download}");
    }
    // The loader's library, and what is installed in this version.
    for package in [" libc6=", " libaio1="] {
        assert!(!download.contains(package), "{download}");
    }
}

#[test]
fn without_root_it_is_unpacked_with_package_lists_of_ones_own() {
    let system = System::new("no-root", &[(SIMULATE_REDIS, recorded!("no_root_plan"))]);
    let done = system.bring(false, REDIS, &Library("any")).unwrap();
    assert!(done.ends_with("because only root can install it"), "{done}");
    assert!(!system.has_asked(INSTALL));
    let lists = format!(
        "Dir::State::lists={}/lists",
        system.folder("lists").display()
    );
    for command in [SIMULATE_REDIS, DOWNLOAD] {
        assert!(system.asked(command).contains(&lists));
    }
}

#[test]
fn what_apt_fails_to_install_is_unpacked() {
    let system = System::new(
        "lock",
        &[
            (SIMULATE_REDIS, recorded!("new")),
            (INSTALL, recorded!("no_root")),
        ],
    );
    let done = system.bring(true, REDIS, &Library("any")).unwrap();
    assert!(
        done.contains("because apt cannot install it (Could not open lock file"),
        "{done}"
    );
}

#[test]
fn a_kernel_is_unpacked_alone_and_never_installed() {
    let plan = "Inst udev (252 Debian)\nInst linux-image-6.1 (6.1.1 Debian)\nInst linux-image (6.1.1 Debian)\n";
    let mut system = System::new("kernel", &[("--simulate", plan)]);
    system.program.0 = "boot/vmlinuz-6.1";
    let done = system.bring(true, "linux-image", &Kernel).unwrap();
    assert!(
        done.starts_with("unpacked linux-image, linux-image-6.1 into "),
        "{done}"
    );
    assert!(!system.has_asked(INSTALL));
    assert!(!system.asked(DOWNLOAD).contains("udev"));
    assert!(system.folder("linux-image").join("boot").is_dir());
}

#[test]
fn an_unknown_package_is_named() {
    for (answer, complaint) in [
        (
            recorded!("unknown"),
            "apt: Unable to locate package no-such-package",
        ),
        (
            recorded!("no_candidate"),
            "apt: Package 'etcd' has no installation candidate",
        ),
    ] {
        let system = System::new("unknown", &[("--simulate", answer)]);
        let error = system.bring(true, "etcd", &qemu()).unwrap_err();
        assert_eq!(error, complaint);
        assert_eq!(system.asked.borrow().len(), 1);
    }
}

#[test]
fn a_missing_network_is_told_of_and_leaves_nothing_behind() {
    let system = System::new(
        "network",
        &[
            ("update", recorded!("no_network_update")),
            (SIMULATE_REDIS, recorded!("new")),
            (INSTALL, recorded!("no_network_download")),
            (DOWNLOAD, recorded!("no_network_download")),
        ],
    );
    let apt = Apt {
        ask: &|command| system.answer(command),
        is_root: true,
        lists: PathBuf::new(),
    };
    let complaint = apt.update().unwrap();
    assert!(complaint.starts_with("Failed to fetch http"), "{complaint}");
    let error = system.bring(true, REDIS, &Library("any")).unwrap_err();
    assert!(
        error.contains("unpacking failed: Failed to fetch http"),
        "{error}"
    );
    assert_eq!(fs::read_dir(system.scratch.path()).unwrap().count(), 0);
    // With no lists of packages at all.
    let system = System::new("lists", &[("--simulate", recorded!("no_network_unknown"))]);
    let error = system.bring(true, REDIS, &Library("any")).unwrap_err();
    assert_eq!(error, "apt: Unable to locate package redis-server");
}

#[test]
fn a_program_that_does_not_run_is_no_tool() {
    let mut system = System::new("library", &[(SIMULATE_QEMU, recorded!("conflict"))]);
    system.program.1 =
        "#!/bin/sh\necho 'error while loading shared libraries: libfdt.so.1' >&2; exit 127\n";
    let error = system.bring(true, QEMU, &qemu()).unwrap_err();
    assert!(
        error.ends_with(
            "qemu-system-arm does not run: error while loading shared libraries: libfdt.so.1"
        ),
        "{error}"
    );
    assert!(!system.folder(QEMU).exists());
}

#[test]
fn what_cannot_be_brought_says_why() {
    let answers = [("--simulate", recorded!("already_installed"))];
    let error = System::new("installed", &answers).bring(true, "coreutils", &qemu());
    assert_eq!(
        error.unwrap_err(),
        "not found, though apt says coreutils is installed"
    );
    let answers = [("--simulate", recorded!("conflict"))];
    let error = System::new("never", &answers).bring(true, QEMU, &Never("it asks the kernel"));
    assert_eq!(
        error.unwrap_err(),
        "apt would remove qemu-utils, and it cannot run from another folder: it asks the kernel"
    );
}
