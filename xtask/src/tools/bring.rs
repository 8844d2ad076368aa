//! Brings one tool by apt: installs it where that only adds packages, and unpacks it elsewhere. Nothing that is
//! installed is removed or upgraded.

use std::fs;
use std::path::Path;

use super::Unpacked;
use super::apt::Apt;
use super::plan::{AptRefusal, DebianPackage};
use super::unpack::{unpack, write_script};
use crate::cargo::program;

/// What a shell answers for a program that cannot be started, and a program whose libraries are missing.
const CANNOT_RUN: [Option<i32>; 3] = [None, Some(126), Some(127)];

/// What was done, or why nothing could be. `folder` is where the packages are unpacked if need be.
pub(super) fn bring(
    apt: &Apt<'_>,
    packages: &[&str],
    unpacked: &Unpacked,
    folder: &Path,
) -> Result<String, String> {
    if folder.is_dir() {
        // For another tool of the same packages.
        make_scripts(apt, unpacked, folder)?;
        return Ok(format!("uses {}", folder.display()));
    }
    let is_kernel = matches!(unpacked, Unpacked::Kernel);
    let (mut lacking, why) = match apt.plan(packages) {
        Ok(plan) => match plan.changes() {
            None if plan.new.is_empty() => {
                let names = packages.join(" ");
                return Err(format!("not found, though apt says {names} is installed"));
            }
            _ if is_kernel => (plan.lacking(), "this system boots another".to_owned()),
            None if apt.is_root => match apt.install(packages) {
                Ok(()) => return Ok(format!("installed {}", names(&plan.new))),
                Err(error) => (plan.lacking(), format!("apt cannot install it ({error})")),
            },
            None => (plan.lacking(), "only root can install it".to_owned()),
            Some(changes) => (plan.lacking(), format!("apt would {changes}")),
        },
        Err(AptRefusal::Unknown(complaint)) => return Err(format!("apt: {complaint}")),
        Err(AptRefusal::Conflict(complaint)) => {
            let lacking = apt.lacking(packages).map_err(|why| format!("apt: {why}"))?;
            (lacking, format!("apt cannot install it ({complaint})"))
        }
    };
    if is_kernel {
        // Not what installs it.
        lacking.retain(|package| package.name.starts_with("linux-"));
    }
    if let Unpacked::Never(reason) = unpacked {
        return Err(format!(
            "{why}, and it cannot run from another folder: {reason}"
        ));
    }
    unpack(apt, &lacking, folder)
        .and_then(|()| make_scripts(apt, unpacked, folder))
        .map_err(|error| {
            _ = fs::remove_dir_all(folder);
            format!("{why}; unpacking failed: {error}")
        })?;
    Ok(format!(
        "unpacked {} into {}, because {why}",
        names(&lacking),
        folder.display()
    ))
}

/// Makes the scripts of a tool, and tries them.
fn make_scripts(apt: &Apt<'_>, unpacked: &Unpacked, folder: &Path) -> Result<(), String> {
    let (programs, arguments): (&[&str], _) = match unpacked {
        Unpacked::Program(name, arguments) => (&[*name], *arguments),
        Unpacked::Folder(names) => (names, r#""$@""#),
        Unpacked::Library(_) | Unpacked::Kernel | Unpacked::Never(_) => (&[], ""),
    };
    for name in programs {
        let script = write_script(folder, name, arguments)?;
        let answer = (apt.ask)(&mut program(&script.to_string_lossy(), &["--version"]));
        if CANNOT_RUN.contains(&answer.code) {
            _ = fs::remove_file(script);
            return Err(format!("{name} does not run: {}", answer.complaint()));
        }
    }
    Ok(())
}

/// The first names, and how many others there are.
fn names(packages: &[DebianPackage]) -> String {
    const SHOWN: usize = 3;
    // apt lists what depends on others after them.
    let shown = packages.iter().rev().take(SHOWN);
    let shown: Vec<_> = shown.map(|package| &*package.name).collect();
    let more = packages.len() - shown.len();
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}
