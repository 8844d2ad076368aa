//! Packages of `PyPI`, in a virtual environment made for the run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::helpers::cargo::{output_of, program};
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;
use crate::helpers::tools::PYTHON;

/// The published Python package to compare with.
pub(crate) const RANDFLAKE: &str = "randflake==2.1.0 \
--hash=sha256:7a4f280cee3984f2ec6da7ed3eb17dbccff916481a5f8b850a99d2d4ae89a08c";

/// Decodes ids as `docs/data.md` does, and compares millions of numbers in the proof.
pub(crate) const NUMPY: &str = "numpy==2.4.6";

/// A virtual environment, which is removed with it.
pub(crate) struct Venv {
    folder: Scratch,
    /// The machine's Python, if that has a pip for this one too.
    pip_of: Option<PathBuf>,
}

impl Venv {
    /// With these packages, each with its version, and with its hashes if the program must be that
    /// one. `None` when something failed, or is left out: then that is reported.
    pub(crate) fn with(
        report: &mut Report,
        name: &str,
        what: &str,
        packages: &[&str],
    ) -> Option<Self> {
        let python = report.tool(&PYTHON, what)?;
        let scratch = report.scratch(name)?;
        let venv = Self {
            folder: scratch,
            pip_of: installs_elsewhere(&python).then(|| python.clone()),
        };
        let mut make = program(&text(&python), &["-m", "venv"]);
        // Installing it takes longer than most packages.
        make.args(venv.pip_of.is_some().then_some("--without-pip"));
        if !report.check("virtual environment", make.arg(venv.folder())) {
            return None;
        }
        // Hashes can be given in a file only.
        let list = venv.folder().join("requirements.txt");
        let written = fs::write(&list, packages.join("\n"));
        if !report.verdict(
            "list of packages",
            written.map_err(|error| error.to_string()),
        ) {
            return None;
        }
        let pip = venv.pip();
        let mut install = program(&pip[0], &pip[1..]);
        // What is imported is compiled then.
        install.args([
            "install",
            "--quiet",
            "--no-compile",
            "--only-binary",
            ":all:",
        ]);
        let is_there = report.check(what, install.arg("--requirement").arg(list));
        is_there.then_some(venv)
    }

    /// The words that call pip for it.
    pub(crate) fn pip(&self) -> Vec<String> {
        let own = text(&self.program("python"));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match &self.pip_of {
            Some(python) => words(&[&text(python), "-m", "pip", "--python", &own]),
            None => words(&[&own, "-m", "pip"]),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
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

/// Whether a Python has a pip, and one of 22.3 or later, which can be told where to.
fn installs_elsewhere(python: &Path) -> bool {
    let python = text(python);
    let asked = ["-m", "pip", "--python", &python, "--version"];
    output_of(&mut program(&python, &asked)).is_some()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
