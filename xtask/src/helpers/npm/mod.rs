//! Packages of npm, installed into a folder for the run: those that a lock file names, each by its
//! hash.

use std::path::Path;

use crate::helpers::cargo::program;
use crate::helpers::files;
use crate::helpers::report::Report;
use crate::helpers::tools::NPM;

/// What is installed, and the lock file that `npm install --package-lock-only --save-exact` made of
/// it.
pub(crate) struct Packages {
    manifest: &'static str,
    lock: &'static str,
}

macro_rules! packages {
    ($folder:literal) => {
        Packages {
            manifest: include_str!(concat!($folder, "/package.json")),
            lock: include_str!(concat!($folder, "/package-lock.json")),
        }
    };
}

/// Ids and UUIDs.
pub(crate) const INTEROP: Packages = packages!("interop");
/// A browser's driver, and what it asks of a page.
pub(crate) const PAGE: Packages = packages!("page");
/// A client of Redis.
pub(crate) const SERVE: Packages = packages!("serve");

/// Whether they are there. If something failed, or is left out, that is reported.
pub(crate) fn install(report: &mut Report, folder: &Path, what: &str, packages: &Packages) -> bool {
    let Some(npm) = report.tool(&NPM, what) else {
        return false;
    };
    let written = files::write(&folder.join("package.json"), packages.manifest)
        .and_then(|()| files::write(&folder.join("package-lock.json"), packages.lock));
    if report.ok(what, written).is_none() {
        return false;
    }
    let mut install = program(npm, "ci --ignore-scripts --no-audit --no-fund");
    report.check(&format!("packages for {what}"), install.current_dir(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_of_a_lock_file_has_a_hash() {
        for Packages { lock, .. } in [INTEROP, PAGE, SERVE] {
            let packages = lock.matches("\n    \"node_modules/").count();
            assert!(packages > 0);
            assert_eq!(
                lock.matches("\n      \"integrity\": \"sha512-").count(),
                packages
            );
        }
    }
}
