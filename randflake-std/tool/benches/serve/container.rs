//! The memory of a container: a control group of the kernel, which only root can make.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{fs, io};

/// The limit of the manifests for Kubernetes, in bytes.
pub(crate) const LIMIT: u64 = 256 << 20;

/// Where groups are in both versions of the kernel's interface, and the file of their limit.
const VERSIONS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

/// Removed on drop, when its process has ended.
pub(crate) struct Container(PathBuf);

impl Container {
    /// `None` where that is not allowed.
    pub(crate) fn make() -> Option<Self> {
        VERSIONS.iter().find_map(|(parent, limit)| {
            let folder = Path::new(parent).join(format!("randflake-bench-{}", process::id()));
            let container = Self(fs::create_dir(&folder).map(|()| folder).ok()?);
            // Without the controller, or outside a file system of groups, the file is not there.
            container.set(limit, &LIMIT.to_string()).ok()?;
            Some(container)
        })
    }

    fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).open(self.0.join(name))?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    /// Runs a program in it from its first byte on.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-ec", r#"echo $$ > "$0/cgroup.procs"; exec "$@""#]);
        command.arg(&self.0).arg(program);
        command
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // It is empty, and a leftover does no harm.
        _ = fs::remove_dir(&self.0);
    }
}
