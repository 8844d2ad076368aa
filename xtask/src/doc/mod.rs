//! `doc`: each library's documentation as a user builds it, with default features, and as docs.rs does, with the features
//! that its manifest names and a badge where an item needs one.

mod front_page;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cargo::{cargo, target};
use crate::matrix::{LIBRARIES, all_features};
use crate::report::Report;

/// A page of each library that has items with features, and the features that its badge shows.
const BADGES: &[(&str, &str, &str)] = &[
    ("sparx64", "struct.Sparx64.html", "cipher"),
    ("randflake-core", "struct.Id.html", "serde"),
    ("randflake-std", "lease/struct.SqliteStore.html", "sqlite"),
    (
        "randflake-embedded",
        "struct.PortableWord.html",
        "portable-atomic",
    ),
];

/// Badges need a feature that only the nightly rustdoc has. The stable one accepts it too, if it is told so; the
/// dependencies, which only the compiler reads, are then those that `lint` has checked, and none is checked once more.
const RUSTDOC: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

pub(crate) fn run(report: &mut Report) {
    // The pages of both lie in one folder: those of docs.rs come last, and are looked at.
    for library in LIBRARIES {
        let mut command = cargo(&["doc", "--no-deps", "--package", library.name, "--lib"]);
        let what = format!("{} with default features", library.name);
        report.check(&what, command.env("RUSTDOCFLAGS", "-Dwarnings"));
    }
    let rustdoc = match rustdoc() {
        Ok(rustdoc) => rustdoc,
        Err(error) => {
            report.verdict("rustdoc", Err(error.to_string()));
            return;
        }
    };
    let features = all_features();
    let mut command = cargo(&["doc", "--workspace", "--features", &features, "--no-deps"]);
    // There are no examples: as soon as they are asked for, cargo chooses the features of dependencies as for clippy, so
    // that none is checked once more.
    command.args(["--lib", "--bins", "--examples"]);
    command.env("RUSTDOC", rustdoc);
    command.env("RUSTDOCFLAGS", "--cfg docsrs -Dwarnings");
    if !report.check("as on docs.rs", &mut command) {
        return;
    }
    let pages = target().join("doc");
    for (library, page, feature) in BADGES {
        let what = format!("badge of {library}");
        report.verdict(&what, badge(&pages_of(&pages, library).join(page), feature));
    }
    for library in LIBRARIES {
        let what = format!("front page of {}", library.name);
        report.verdict(&what, front_page::check(&pages, library.name));
    }
}

/// In a place that stays: what another program has documented is documented again.
fn rustdoc() -> io::Result<PathBuf> {
    let path = target().join("rustdoc-for-docs-rs");
    fs::write(&path, RUSTDOC)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    Ok(path)
}

/// The folder of a library's pages.
fn pages_of(pages: &Path, library: &str) -> PathBuf {
    pages.join(library.replace('-', "_"))
}

fn badge(page: &Path, feature: &str) -> Result<(), String> {
    let html = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
    if html.contains(&format!("crate feature <code>{feature}</code>")) {
        return Ok(());
    }
    let page = page.display();
    Err(format!("{page} has no badge of the feature {feature}"))
}
