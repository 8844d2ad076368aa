//! `docs-rs`: the libraries documented as docs.rs does it, with the nightly toolchain: with the features that their manifests
//! name, and a badge where an item needs one. No part of `test`, which documents them with the stable one: most
//! dependencies would be built once more.

use std::fs;
use std::process::ExitCode;

use crate::apart;
use crate::cargo::{cargo, root, target};
use crate::matrix::LIBRARIES;
use crate::report::Report;
use crate::tidy::{DocsRs, Manifest};

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    Ok(apart::run("docs-rs", &[], Report::new(false), run))
}

/// A page of each library that has items with features, and the features that its badge shows.
const BADGES: &[(&str, &str, &str)] = &[
    ("sparx64", "struct.Sparx64.html", "cipher"),
    ("randflake-core", "struct.Ticket.html", "ticket"),
    ("randflake-std", "lease/type.SqliteStore.html", "sqlite"),
    (
        "randflake-embedded",
        "struct.NorHorizon.html",
        "embedded-storage",
    ),
];

fn run(report: &mut Report) {
    for library in LIBRARIES {
        let documented = document(report, library.name);
        report.verdict(library.name, documented);
    }
}

fn document(report: &mut Report, name: &str) -> Result<(), String> {
    let manifest = root().join(name).join("Cargo.toml");
    let text = fs::read_to_string(manifest).map_err(|error| error.to_string())?;
    let manifest = Manifest::parse(&text).map_err(|error| error.to_string())?;
    let folder = target().join("docs-rs");
    let mut command = cargo(&["doc", "--no-deps", "--package", name]);
    match manifest.docs_rs {
        DocsRs::All => {
            command.arg("--all-features");
        }
        DocsRs::These(features) => {
            command.args(["--features", &features.join(",")]);
        }
        DocsRs::Unsaid => {}
    }
    command
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env("RUSTDOCFLAGS", "--cfg docsrs -Dwarnings")
        .env("CARGO_TARGET_DIR", &folder);
    if !report.check(&format!("rustdoc of {name}"), &mut command) {
        return Err("it was not documented".to_owned());
    }
    let pages = folder.join("doc").join(name.replace('-', "_"));
    for (_, page, feature) in BADGES.iter().filter(|(library, ..)| *library == name) {
        let path = pages.join(page);
        let html = fs::read_to_string(&path).map_err(|_| format!("there is no {page}"))?;
        let badge = format!("crate feature <code>{feature}</code>");
        if !html.contains(&badge) {
            return Err(format!("{page} has no badge of the feature {feature}"));
        }
    }
    Ok(())
}
