//! The service under systemd itself, which boots as process 1 of namespaces of its own.

use std::path::Path;
use std::{fs, io, process};

use super::{docs, files_of};
use crate::helpers::cargo::{program, target};
use crate::helpers::matrix::separate_test;
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;
use crate::helpers::tools::is_root;

/// What `check.sh` says when systemd has booted and has run another program with the unit's limits.
const FIT: &str = "services are confined";

pub(super) fn run(report: &mut Report) {
    let what = "the service under systemd";
    if !is_root() {
        report.leave_out(&format!("{what} (boots in namespaces, which needs root)"));
        return;
    }
    // The tool as the other parts build it.
    let mut build = separate_test("serve");
    if !report.check("the tool", build.arg("--no-run")) {
        return;
    }
    match folder() {
        Ok(folder) => {
            let path = folder.path().to_string_lossy();
            let group = format!("randflake-{}", process::id());
            // Far longer than it takes: a manager that hangs is not waited for.
            let mut boot = program("timeout", &["600", "bash", "boot.sh", &path, &group]);
            let booted = boot.current_dir(folder.path()).output();
            let console = fs::read_to_string(folder.path().join("console")).unwrap_or_default();
            report.say(&console);
            match booted {
                Ok(ended) if ended.status.success() => _ = report.verdict(what, Ok(())),
                Ok(ended) if console.contains(FIT) => {
                    let reason = reason(&console).map_or(ended.status.to_string(), str::to_owned);
                    _ = report.verdict(what, Err(reason));
                }
                Ok(ended) => {
                    report.say(&String::from_utf8_lossy(&ended.stderr));
                    // Nothing of the project's has failed: this is a chroot, or a container with
                    // few rights.
                    report.leave_out(&format!(
                        "{what} (none can boot here and confine a service)"
                    ));
                }
                Err(error) => _ = report.verdict(what, Err(error.to_string())),
            }
        }
        Err(error) => _ = report.verdict(what, Err(error.to_string())),
    }
}

/// What `check.sh` says of its failure; `None` if it was ended by something else, such as the time
/// limit.
fn reason(console: &str) -> Option<&str> {
    console
        .lines()
        .find_map(|line| line.strip_prefix("FAILED: "))
}

fn folder() -> io::Result<Scratch> {
    let scratch = Scratch::new("manager")?;
    let place = |name: &str| scratch.path().join(name);
    fs::write(place("boot.sh"), include_str!("boot.sh"))?;
    fs::write(place("check.sh"), include_str!("check.sh"))?;
    fs::write(place("console"), "")?;
    fs::copy(target().join("debug/randflake"), place("randflake"))?;
    let units = place("deploy/systemd");
    fs::create_dir_all(&units)?;
    for unit in files_of(&docs("deploy/systemd")) {
        let name = unit.file_name().map_or(Path::new(""), Path::new);
        fs::copy(&unit, units.join(name))?;
    }
    let guide = fs::read_to_string(docs("deploy/README.md"))?;
    fs::write(place("guide.sh"), commands(&guide).unwrap_or_default())?;
    Ok(scratch)
}

/// What the guide types to install the service.
fn commands(guide: &str) -> Option<&str> {
    let (_, section) = guide.split_once("\n## systemd\n")?;
    let (_, block) = section.split_once("```sh\n")?;
    Some(block.split_once("```")?.0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reason_of_a_failure_is_found() {
        let console =
            "ok: SubState is running\nFAILED: no answer (after the stop)\n[  OK  ] FAILED: no\n";
        assert_eq!(super::reason(console), Some("no answer (after the stop)"));
        assert_eq!(super::reason("services are confined\n"), None);
    }
}
