//! `image`: the container image of the guide, from a program that is built here, and what it does
//! when it runs. The part `deploy` does so with the program of the other tests and the libraries
//! that this needs, since a static program, as the image has it, is the tool built once more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;

const DOCKERFILE: &str = "docs/deploy/Dockerfile";
const PACKAGE: &str = "--package randflake --bin randflake";
const FLAGS: &str = "-C target-feature=+crt-static";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&BUILDAH), Need::Tool(&REDIS_CLI)]
}

pub(crate) fn plan(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    Plan::of(needs(), |report| run(report, static_program))
}

/// Of the part `deploy`, which has built the tool.
pub(crate) fn once(report: &mut Report) {
    run(report, |_| Some(target().join("debug/randflake")));
}

fn run(report: &mut Report, build: impl FnOnce(&mut Report) -> Option<PathBuf>) {
    const WHAT: &str = "the image";
    if !is_root() {
        report.leave_out("the image (runs in a folder as its root, which needs root)");
        return;
    }
    let tools = (report.tool(&BUILDAH, WHAT), report.tool(&REDIS_CLI, WHAT));
    let (Some(buildah), Some(redis_cli)) = tools else {
        return;
    };
    report.verdict("the Dockerfile builds what is tested", as_in_dockerfile());
    let Some(file) = build(report) else { return };
    let Some(scratch) = report.scratch("image") else {
        return;
    };
    if report.ok(WHAT, prepare(scratch.path(), &file)).is_some() {
        let mut check = program("bash", "check.sh");
        check
            .env("BUILDAH", shown(&buildah_in(&buildah, scratch.path())))
            .env("DOCKERFILE", root().join(DOCKERFILE))
            .env("REDIS_CLI", redis_cli)
            .current_dir(scratch.path());
        report.check("the image serves ids", &mut check);
    }
}

/// With all features, linked in the same way.
fn as_in_dockerfile() -> Result<(), String> {
    let text = files::read(&root().join(DOCKERFILE))?;
    match [PACKAGE, FLAGS]
        .iter()
        .find(|words| !text.contains(**words))
    {
        Some(words) => Err(format!("{DOCKERFILE} has no `{words}`")),
        None => Ok(()),
    }
}

/// The tool, optimised as `cargo randflake` has it: this takes a quarter of the time of a release.
fn static_program(report: &mut Report) -> Option<PathBuf> {
    let host = rustc("--print host-tuple");
    let mut build = cargo(&format!(
        "build --locked --profile tool {PACKAGE} --target {host}"
    ));
    let is_built = report.check("a static program", build.env("RUSTFLAGS", FLAGS));
    is_built.then(|| target().join(host).join("tool/randflake"))
}

/// What the image is built from, and what buildah would look for in `/etc/containers`.
fn prepare(folder: &Path, built: &Path) -> Result<(), String> {
    const POLICY: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;
    let state = folder.join("image/state");
    fs::create_dir_all(&state).map_err(files::of(&state))?;
    files::copy(built, &folder.join("image/randflake"))?;
    files::write(&folder.join("policy.json"), POLICY)?;
    files::write(&folder.join("registries.conf"), "")?;
    files::write(&folder.join("check.sh"), include_str!("image.sh"))
}

/// The program, with all that it keeps in a folder.
fn buildah_in(buildah: &Path, folder: &Path) -> Command {
    let mut command = program(buildah, "--storage-driver vfs");
    for (flag, name) in [
        ("--root", "storage"),
        ("--runroot", "run"),
        ("--registries-conf", "registries.conf"),
    ] {
        command.arg(flag).arg(folder.join(name));
    }
    command
}
