//! apt, on Debian and its kin. Only root can install; everybody can plan and download, with package lists of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ask::{Answer, RunCommand};
use super::plan::{AptRefusal, DebianPackage, Plan};
use crate::cargo::{program, shown};

pub(super) struct Apt<'a> {
    pub(super) ask: RunCommand<'a>,
    pub(super) is_root: bool,
    /// For the package lists of a user who is not root.
    pub(super) lists: PathBuf,
}

/// The loader is one with its C library: another one's program does not start.
const LOADER: &str = "libc6";

impl Apt<'_> {
    /// Fetches the package lists; why that failed. The old lists may do all the same.
    pub(super) fn update(&self) -> Option<String> {
        if !self.is_root {
            for folder in ["lists/partial", "cache/archives/partial"] {
                _ = fs::create_dir_all(self.lists.join(folder));
            }
        }
        let answer = self.announced(self.command(&["update", "--quiet"]));
        // It ends well where a server did not answer.
        let failed = !answer.succeeded() || answer.text.contains("\nW: Failed to fetch");
        failed.then(|| answer.complaint())
    }

    /// What apt would do to install packages.
    pub(super) fn plan(&self, packages: &[&str]) -> Result<Plan, AptRefusal> {
        let simulate = ["--simulate", "install", "--no-install-recommends"];
        Plan::read(&(self.ask)(self.command(&simulate).args(packages)))
    }

    /// All that packages need and is not installed in the version that apt offers, whatever conflicts with it.
    pub(super) fn lacking(&self, packages: &[&str]) -> Result<Vec<DebianPackage>, AptRefusal> {
        let mut command = self.command(&["-o", "Dir::State::status=/dev/null"]);
        command
            .args(["--simulate", "install", "--no-install-recommends"])
            .args(packages);
        let all = Plan::read(&(self.ask)(&mut command))?.lacking();
        let mut query = program(
            "dpkg-query",
            &["--show", "--showformat=${Package}=${Version}\\n"],
        );
        query.args(all.iter().map(|package| &package.name));
        // It fails as soon as one of them is not installed.
        let installed = (self.ask)(&mut query).text;
        let is_there = |package: &DebianPackage| {
            let wanted = package.to_string();
            package.name == LOADER || installed.lines().any(|line| line == wanted)
        };
        Ok(all
            .into_iter()
            .filter(|package| !is_there(package))
            .collect())
    }

    /// Installs packages, as root, and nothing else happens: whoever calls this has seen the plan.
    pub(super) fn install(&self, packages: &[&str]) -> Result<(), String> {
        let mut command = self.command(&["install", "--yes", "--no-install-recommends"]);
        command
            .args([
                "--no-remove",
                "--no-upgrade",
                "-o",
                "DPkg::Lock::Timeout=120",
            ])
            .args(packages);
        result(&self.announced(command))
    }

    /// Downloads exactly these packages into a folder; apt checks their signed hashes.
    pub(super) fn download(&self, packages: &[DebianPackage], folder: &Path) -> Result<(), String> {
        let mut command = self.command(&["download", "--quiet"]);
        command
            .args(packages.iter().map(DebianPackage::to_string))
            .current_dir(folder);
        result(&self.announced(command))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program("apt-get", &[""; 0]);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        if !self.is_root {
            let lists = self.lists.display();
            command
                .args(["-o", &format!("Dir::State::lists={lists}/lists")])
                .args(["-o", &format!("Dir::Cache={lists}/cache")]);
        }
        command.args(arguments);
        command
    }

    /// Says what takes a while or changes something.
    fn announced(&self, mut command: Command) -> Answer {
        println!("\n$ {}", shown(&command));
        (self.ask)(&mut command)
    }
}

fn result(answer: &Answer) -> Result<(), String> {
    if answer.succeeded() {
        Ok(())
    } else {
        Err(answer.complaint())
    }
}
