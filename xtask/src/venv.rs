//! Packages of `PyPI`, in a virtual environment made for the run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::program;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::tools::PYTHON;

/// The published Python package to compare with.
pub(crate) const RANDFLAKE: &str = "randflake==2.1.0 \
--hash=sha256:7a4f280cee3984f2ec6da7ed3eb17dbccff916481a5f8b850a99d2d4ae89a08c";

/// Decodes ids as `docs/data.md` does, and compares millions of numbers in the proof.
pub(crate) const NUMPY: &str = "numpy==2.4.6";

/// A folder that is removed with it.
pub(crate) struct Venv(Scratch);

impl Venv {
    /// With these packages, each with its version, and with its hashes if the program must be that one. `None` when
    /// something failed, or is left out: then that is reported.
    pub(crate) fn with(
        report: &mut Report,
        name: &str,
        what: &str,
        packages: &[&str],
    ) -> Option<Self> {
        let python = report.tool(&PYTHON, what)?;
        let scratch = Scratch::reported(report, name)?;
        let folder = scratch.path().to_string_lossy();
        let mut make = program(&python.to_string_lossy(), &["-m", "venv", &folder]);
        if !report.check("virtual environment", &mut make) {
            return None;
        }
        let venv = Self(scratch);
        // Hashes can be given in a file only.
        let list = venv.folder().join("requirements.txt");
        let written = fs::write(&list, packages.join("\n"));
        if !report.verdict(
            "list of packages",
            written.map_err(|error| error.to_string()),
        ) {
            return None;
        }
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "--requirement",
        ];
        let mut install = program(&venv.program("python").to_string_lossy(), &install);
        let is_there = report.check(what, install.arg(list));
        is_there.then_some(venv)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A folder of a package.
    pub(crate) fn package(&self, path: &str) -> Option<PathBuf> {
        // Named after the version of Python.
        let versions = fs::read_dir(self.folder().join("lib")).ok()?.flatten();
        let mut folders = versions.map(|version| version.path().join("site-packages").join(path));
        folders.find(|folder| folder.is_dir())
    }

    /// One of its programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder().join("bin").join(name)
    }
}
