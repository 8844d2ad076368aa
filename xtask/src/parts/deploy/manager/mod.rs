//! The service under systemd itself, which boots as process 1 of namespaces of its own.

use std::path::Path;
use std::process;

use super::docs;
use crate::helpers::prelude::*;

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
    let Some(scratch) = report.scratch("manager") else {
        return;
    };
    let folder = scratch.path();
    if report.ok(what, prepare(folder)).is_none() {
        return;
    }
    // Far longer than it takes: a manager that hangs is not waited for.
    let mut boot = program("timeout", "600 bash boot.sh");
    boot.arg(folder).arg(format!("randflake-{}", process::id()));
    let Some(booted) = report.ok(what, boot.current_dir(folder).output()) else {
        return;
    };
    let console = files::read(&folder.join("console")).unwrap_or_default();
    report.say(&console);
    if booted.status.success() {
        report.verdict(what, Ok::<_, String>(()));
    } else if console.contains(FIT) {
        report.fail(
            what,
            reason(&console).map_or(booted.status.to_string(), str::to_owned),
        );
    } else {
        report.say(&String::from_utf8_lossy(&booted.stderr));
        // Nothing of the project's has failed: this is a chroot, or a container with few rights.
        report.leave_out(&format!(
            "{what} (none can boot here and confine a service)"
        ));
    }
}

/// What `check.sh` says of its failure; `None` if it was ended by something else, such as the time
/// limit.
fn reason(console: &str) -> Option<&str> {
    console
        .lines()
        .find_map(|line| line.strip_prefix("FAILED: "))
}

fn prepare(folder: &Path) -> Result<(), String> {
    let place = |name: &str| folder.join(name);
    files::write(&place("boot.sh"), include_str!("boot.sh"))?;
    files::write(&place("check.sh"), include_str!("check.sh"))?;
    files::write(&place("console"), "")?;
    files::copy(&target().join("debug/randflake"), &place("randflake"))?;
    for unit in files::entries(&docs("deploy/systemd")) {
        let name = unit.file_name().unwrap_or_default();
        files::copy(&unit, &place("deploy/systemd").join(name))?;
    }
    let guide = files::read(&docs("deploy/README.md"))?;
    files::write(&place("guide.sh"), commands(&guide).unwrap_or_default())
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
