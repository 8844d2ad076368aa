//! Packages of npm, installed into a folder for the run.

use std::path::Path;

use crate::cargo::program;
use crate::report::Report;
use crate::tools::NPM;

/// Whether they are there. If something failed, or is left out, that is reported.
pub(crate) fn install(report: &mut Report, folder: &Path, what: &str, packages: &[&str]) -> bool {
    let Some(npm) = report.tool(&NPM, what) else {
        return false;
    };
    let arguments = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    let mut install = program(&npm.to_string_lossy(), &arguments);
    install.arg("--prefix").arg(folder).args(packages);
    report.check(&packages.join(", "), &mut install)
}
