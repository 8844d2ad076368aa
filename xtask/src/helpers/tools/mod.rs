//! Tools from outside Rust: how each is found, and how apt brings it.
//!
//! As root, packages are installed if apt's simulation says that it only adds some. Where it would
//! remove or upgrade what is installed, they are unpacked into a folder, and scripts run them
//! there. Without root, the command is printed.

mod find;
mod table;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{fs, io};

use crate::helpers::cargo::{answer, output_of, program, shown, target};
use crate::helpers::files::{self, write_script};
pub(crate) use table::*;

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Where the system has it, given the name.
    find: fn(&str) -> Option<PathBuf>,
    /// Packages of Debian and its kin.
    packages: &'static [&'static str],
    unpacked: Unpacked,
}

/// How a tool is used from the folder that its packages were unpacked into.
pub(crate) enum Unpacked {
    /// A script runs the program of the tool's name with these words of a shell, where `$root` is
    /// the folder.
    Script(&'static str),
    /// A script for each of these programs; the tool is their folder.
    Folder(&'static [&'static str]),
    /// A guest's kernel, which is never installed: the tool is the folder with its `boot`.
    Kernel,
    /// It looks for parts of its own in `/usr`.
    Never,
}

/// A program that needs no other arguments where it is unpacked.
pub(crate) const fn debian(name: &'static str, packages: &'static [&'static str]) -> Tool {
    Tool {
        name,
        find: find::program_file,
        packages,
        unpacked: Unpacked::Script(r#""$@""#),
    }
}

impl Tool {
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let scripts = self.folder().join("run");
        (self.find)(self.name).or_else(|| match self.unpacked {
            Unpacked::Script(_) => Some(scripts.join(self.name)).filter(|path| path.is_file()),
            Unpacked::Folder(_) => Some(scripts).filter(|path| path.is_dir()),
            Unpacked::Kernel => Some(self.folder()).filter(|path| path.join("boot").is_dir()),
            Unpacked::Never => None,
        })
    }

    fn folder(&self) -> PathBuf {
        folder().join(self.packages.join("+"))
    }

    /// What was done, or why the tool is still missing.
    fn bring(&self) -> Result<String, String> {
        if self.find().is_some() {
            return Ok("came with another tool".to_owned());
        }
        let mut simulate = apt("--simulate install --no-install-recommends");
        let plan = Plan::read(&answer_of(simulate.args(self.packages))?);
        let is_kernel = matches!(self.unpacked, Unpacked::Kernel);
        let done = if plan.changed.is_empty() && !is_kernel {
            let mut install = apt(
                "install --yes --no-install-recommends --no-remove --no-upgrade \
                                   -o DPkg::Lock::Timeout=120",
            );
            announced(install.args(self.packages))?;
            "installed".to_owned()
        } else {
            let why = format!("apt would change {}", plan.changed.join(", "));
            if matches!(self.unpacked, Unpacked::Never) {
                return Err(why);
            }
            let mut packages = plan.brought;
            // Not what installs it.
            packages.retain(|package| !is_kernel || package.starts_with("linux-"));
            self.unpack(&packages).map_err(|error| {
                _ = fs::remove_dir_all(self.folder());
                format!("{why}; unpacking: {error}")
            })?;
            format!("unpacked into {}, as {why}", self.folder().display())
        };
        self.find()
            .map(|_| done.clone())
            .ok_or(format!("{done}, but not found"))
    }

    fn unpack(&self, packages: &[String]) -> Result<(), String> {
        let folder = self.folder();
        // Another tool may have the same packages.
        if !folder.is_dir() {
            let archives = folder.join("archives");
            readable_folder(&archives).map_err(|error| error.to_string())?;
            let mut download = apt("download --quiet");
            announced(download.args(packages).current_dir(&archives))?;
            for archive in files::entries(&archives) {
                let mut extract = program("dpkg-deb", "--extract");
                answer_of(extract.arg(archive).arg(&folder))?;
            }
            _ = fs::remove_dir_all(&archives);
        }
        let (names, arguments) = match &self.unpacked {
            Unpacked::Script(arguments) => (&[self.name][..], *arguments),
            Unpacked::Folder(names) => (*names, r#""$@""#),
            Unpacked::Kernel | Unpacked::Never => (&[][..], ""),
        };
        for name in names {
            let script = script(&folder, name, arguments).map_err(|error| error.to_string())?;
            // What a shell answers for a program that cannot start, and one whose libraries are
            // missing.
            match Command::new(&script).arg("--version").output() {
                Ok(output) if ![Some(126), Some(127)].contains(&output.status.code()) => {}
                _ => return Err(format!("{name} does not run")),
            }
        }
        Ok(())
    }
}

/// Brings missing tools, one by one: what stands against one takes no other down.
pub(crate) fn bring(
    tools: &[&'static Tool],
    mut tell: impl FnMut(&'static Tool, Result<String, String>),
) {
    let can_install = is_root() && find::in_path("apt-get").next().is_some();
    let guard = can_install.then(NothingStarts::new);
    // The old lists may do.
    let offline = can_install.then(|| announced(&mut apt("update --quiet")).err());
    for tool in tools {
        let done = if can_install {
            tool.bring()
        } else {
            Err("only root can install it, by apt-get".to_owned())
        };
        tell(
            tool,
            done.map_err(|why| match offline.as_ref().and_then(Option::as_ref) {
                Some(complaint) => format!("{why}; apt-get update: {complaint}"),
                None => why,
            }),
        );
    }
    drop(guard);
    let brought = |package: &str| tools.iter().any(|tool| tool.packages.contains(&package));
    let services: Vec<_> = SERVICES
        .iter()
        .filter(|(package, _)| brought(package))
        .map(|(_, service)| *service)
        .collect();
    if can_install && !services.is_empty() && find::in_path("systemctl").next().is_some() {
        _ = announced(program("systemctl", "disable --quiet").args(services));
    }
}

/// What a user types to get tools.
pub(crate) fn command(tools: &[&Tool]) -> String {
    let packages: BTreeSet<&str> = tools
        .iter()
        .flat_map(|tool| tool.packages)
        .copied()
        .collect();
    let packages: Vec<_> = packages.into_iter().collect();
    format!(
        "sudo apt-get install --no-install-recommends {}",
        packages.join(" ")
    )
}

/// What apt would do.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// `NAME=VERSION` of all that is not there.
    brought: Vec<String>,
    /// What is installed and would be removed or upgraded.
    changed: Vec<String>,
}

impl Plan {
    /// From lines `Inst NAME [OLD] (NEW ...` with the old version of an upgrade, and `Remv NAME
    /// [OLD]`.
    fn read(simulated: &str) -> Self {
        let (mut brought, mut changed) = (Vec::new(), Vec::new());
        for line in simulated.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["Remv" | "Purg", name, ..] => changed.push(name.to_owned()),
                ["Inst", name, old, ..] => {
                    if old.starts_with('[') {
                        changed.push(name.to_owned());
                    }
                    let mut new = words.iter().filter_map(|word| word.strip_prefix('('));
                    brought.extend(new.next().map(|version| format!("{name}={version}")));
                }
                _ => {}
            }
        }
        Self { brought, changed }
    }
}

fn apt(words: &str) -> Command {
    let mut command = program("apt-get", words);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Says what takes a while or changes something.
fn announced(command: &mut Command) -> Result<String, String> {
    println!("\n$ {}", shown(command));
    answer_of(command)
}

/// What a command printed, or the line of its complaint that apt marks with `E:`.
fn answer_of(command: &mut Command) -> Result<String, String> {
    // A question would wait for ever.
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    answer(command).map_err(|errors| {
        let marked = errors.lines().find_map(|line| line.strip_prefix("E: "));
        marked
            .or_else(|| errors.lines().last())
            .unwrap_or("no message")
            .to_owned()
    })
}

/// Makes a script that runs an unpacked program with the libraries beside it.
fn script(folder: &Path, name: &str, arguments: &str) -> io::Result<PathBuf> {
    let own = ["usr/bin", "usr/sbin", "bin", "sbin"].map(|place| folder.join(place));
    let postgres = files::entries(&folder.join("usr/lib/postgresql")).into_iter();
    let places = own
        .into_iter()
        .chain(postgres.map(|version| version.join("bin")));
    let file = places
        .map(|place| place.join(name))
        .find(|file| file.is_file());
    let bases = ["usr/lib", "lib"].map(|base| folder.join(base));
    let libraries: Vec<_> = bases
        .iter()
        .flat_map(|base| files::entries(base))
        .filter(|path| path.is_dir() && path.to_string_lossy().ends_with("-linux-gnu"))
        .chain(bases.clone())
        .map(|path| path.display().to_string())
        .collect();
    let text = format!(
        "#!/bin/sh\nroot='{}'\nexport LD_LIBRARY_PATH=\"{}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\nexec '{}' {arguments}\n",
        folder.display(),
        libraries.join(":"),
        file.ok_or(io::ErrorKind::NotFound)?.display(),
    );
    let script = folder.join("run").join(name);
    readable_folder(&folder.join("run"))?;
    write_script(&script, &text)?;
    Ok(script)
}

/// A folder that all users can read, whatever the umask.
fn readable_folder(path: &Path) -> io::Result<()> {
    let absent: Vec<_> = path.ancestors().take_while(|path| !path.exists()).collect();
    for folder in absent.iter().rev() {
        fs::create_dir(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// While it lives, no package that is being installed starts or enables a service: tests start
/// servers of their own.
struct NothingStarts(Option<&'static Path>);

impl NothingStarts {
    /// Keeps the file that says so, unless somebody else has put one there.
    fn new() -> Self {
        let file = Path::new("/usr/sbin/policy-rc.d");
        let written = !file.exists() && write_script(file, "#!/bin/sh\nexit 101\n").is_ok();
        Self(written.then_some(file))
    }
}

impl Drop for NothingStarts {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            _ = fs::remove_file(file);
        }
    }
}

/// Where tools are unpacked. Some servers refuse to be run by root, and the tests run them as
/// another user, who must be able to read that folder: a clone in root's home cannot have it.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let own = target().join("tools");
        if is_root() && !others_may_enter(&own) {
            "/var/cache/randflake-tools".into()
        } else {
            own
        }
    })
}

fn others_may_enter(folder: &Path) -> bool {
    const ENTER: u32 = 0o001;
    let mut there = folder
        .ancestors()
        .filter_map(|path| fs::metadata(path).ok());
    there.all(|folder| folder.permissions().mode() & ENTER != 0)
}

pub(crate) fn is_root() -> bool {
    output_of(&mut program("id", "-u")).is_some_and(|id| id == "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helpers::scratch::Scratch;

    #[test]
    fn removals_and_upgrades_are_seen() {
        let plan = Plan::read(
            "Reading package lists...\n\
             Remv qemu-utils [1:10.0.2+ds-2+deb13u1~bpo12+1]\n\
             Inst login [1:4.13+dfsg1-1+deb12u1] (1:4.13+dfsg1-1+deb12u2 Debian:12.15/oldstable [amd64])\n\
             Inst libfdt1 (1.6.1-4+b1 Debian:12.15/oldstable [amd64])\nConf libfdt1 (1.6.1-4+b1 Debian:12.15)\n",
        );
        assert_eq!(plan.changed, ["qemu-utils", "login"]);
        assert_eq!(
            plan.brought,
            ["login=1:4.13+dfsg1-1+deb12u2", "libfdt1=1.6.1-4+b1"]
        );
    }

    #[test]
    fn unpacked_program_gets_libraries_and_arguments() {
        let scratch = Scratch::new("tools-script").unwrap();
        let folder = scratch.path().join("clone");
        fs::create_dir_all(folder.join("usr/lib/x86_64-linux-gnu")).unwrap();
        fs::create_dir_all(folder.join("usr/bin")).unwrap();
        let program = "#!/bin/sh\necho $LD_LIBRARY_PATH \"$@\"\n";
        write_script(&folder.join("usr/bin/qemu"), program).unwrap();
        let script = script(&folder, "qemu", r#""$@" -L "$root/usr""#).unwrap();
        let said = answer(
            Command::new(script)
                .arg("a b")
                .env_remove("LD_LIBRARY_PATH"),
        )
        .unwrap();
        let root = folder.display();
        assert!(
            said.starts_with(&format!("{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib:")),
            "{said}"
        );
        assert!(said.ends_with(&format!(" a b -L {root}/usr\n")), "{said}");
    }

    #[test]
    fn a_closed_folder_above_keeps_others_out() {
        let scratch = Scratch::new("tools-closed").unwrap();
        let folder = scratch.path().join("clone/target/tools");
        for (mode, open) in [(0o755, true), (0o750, false), (0o711, true)] {
            fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(others_may_enter(&folder), open, "{mode:o}");
        }
    }
}
