//! Packages of `PyPI`, in a virtual environment made for the run.

use std::path::{Path, PathBuf};

use crate::helpers::cargo::{output_of, program};
use crate::helpers::files;
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
        let folder = report.scratch(name)?;
        // A pip of 22.3 or later can be told where to.
        let mut asked = program(&python, "-m pip --version --python");
        let pip_of = output_of(asked.arg(&python)).map(|_| python.clone());
        let mut make = program(&python, "-m venv");
        // Installing it takes longer than most packages.
        make.args(pip_of.is_some().then_some("--without-pip"))
            .arg(folder.path());
        let venv = Self { folder, pip_of };
        // Hashes can be given in a file only.
        let list = venv.folder().join("requirements.txt");
        if !report.check("virtual environment", &mut make)
            || !report.verdict("list of packages", files::write(&list, packages.join("\n")))
        {
            return None;
        }
        let pip = venv.pip();
        let mut install = program(&pip[0], "");
        // What is imported is compiled then.
        install.args(&pip[1..]).args([
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
    pub(crate) fn pip(&self) -> Vec<PathBuf> {
        let own = self.program("python");
        let words = |words: &[&str]| words.iter().map(PathBuf::from).collect::<Vec<_>>();
        match &self.pip_of {
            Some(python) => [
                vec![python.clone()],
                words(&["-m", "pip", "--python"]),
                vec![own],
            ]
            .concat(),
            None => [vec![own], words(&["-m", "pip"])].concat(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A folder of a package.
    pub(crate) fn package(&self, path: &str) -> Option<PathBuf> {
        // Named after the version of Python.
        let versions = files::entries(&self.folder().join("lib")).into_iter();
        let mut folders = versions.map(|version| version.join("site-packages").join(path));
        folders.find(|folder| folder.is_dir())
    }

    /// One of its programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder().join("bin").join(name)
    }
}
