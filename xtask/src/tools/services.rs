//! Services of packages, which apt would start now and at every boot: tests start servers of their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Tool;
use super::find::in_path;
use crate::cargo::{program, shown};

/// Packages and the services that they install.
const SERVICES: &[(&str, &str)] = &[
    ("redis-server", "redis-server.service"),
    ("etcd-server", "etcd.service"),
    ("postgresql", "postgresql.service"),
    ("prometheus", "prometheus.service"),
];

/// While it lives, no package that is being installed starts a service.
pub(super) struct NothingStarts {
    /// The file that says so, unless somebody else has put one there.
    file: Option<&'static Path>,
}

impl NothingStarts {
    pub(super) fn new() -> Self {
        let file = Path::new("/usr/sbin/policy-rc.d");
        let written = !file.exists()
            && fs::write(file, "#!/bin/sh\nexit 101\n").is_ok()
            && succeeds(program("chmod", &["755", &file.to_string_lossy()]));
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

/// Keeps the services of tools that were just installed from the next boot.
pub(super) fn disable(tools: &[&Tool]) {
    let installed = tools.iter().filter(|tool| tool.find_installed().is_some());
    let packages: Vec<_> = installed.flat_map(|tool| tool.packages).copied().collect();
    let services = of(&packages);
    if services.is_empty() || in_path("systemctl").next().is_none() {
        return;
    }
    let mut command = program("systemctl", &["disable", "--quiet"]);
    command.args(services);
    println!("\n$ {}", shown(&command));
    _ = command.status();
}

fn of(packages: &[&str]) -> Vec<&'static str> {
    let brought = |package: &str| packages.contains(&package);
    let services = SERVICES.iter().filter(|(package, _)| brought(package));
    services.map(|&(_, service)| service).collect()
}

fn succeeds(mut command: Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn services_are_those_of_what_was_installed() {
        assert_eq!(of(&["etcd-server", "python3"]), ["etcd.service"]);
    }
}
