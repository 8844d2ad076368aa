//! `image`: the container image of the guide, from a program that is built here, and what it does when it runs. No part
//! of `test`: it builds the tool once more, as a static program.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use crate::apart;
use crate::cargo::{cargo, output_of, program, root, target};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{BUILDAH, REDIS_CLI, is_root};

const DOCKERFILE: &str = "docs/deploy/Dockerfile";
const PACKAGE: &str = "--package randflake --bin randflake";
const FLAGS: &str = "-C target-feature=+crt-static";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    let needs = [Need::Tool(&BUILDAH), Need::Tool(&REDIS_CLI)];
    Ok(apart::run("image", &needs, Report::new(false), run))
}

fn run(report: &mut Report) {
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
    let Some(built) = static_program(report) else {
        return;
    };
    let scratch = match prepared(&built) {
        Ok(scratch) => scratch,
        Err(error) => {
            report.verdict(WHAT, Err(error.to_string()));
            return;
        }
    };
    let buildah = Buildah {
        program: buildah,
        folder: scratch.path().to_owned(),
    };
    if report.check("build", &mut buildah.build()) {
        let script = scratch.path().join("check.sh");
        let mut check = program("bash", &[script.to_string_lossy()]);
        check
            .env("BUILDAH", buildah.line())
            .env("REDIS_CLI", redis_cli)
            .current_dir(scratch.path());
        report.check("the image serves ids", &mut check);
    }
}

/// With all features, linked in the same way.
fn as_in_dockerfile() -> Result<(), String> {
    let text = fs::read_to_string(root().join(DOCKERFILE)).map_err(|error| error.to_string())?;
    for words in [PACKAGE, FLAGS] {
        if !text.contains(words) {
            return Err(format!("{DOCKERFILE} has no `{words}`"));
        }
    }
    Ok(())
}

/// The tool, optimised as `cargo randflake` has it: this takes a quarter of the time of a release.
fn static_program(report: &mut Report) -> Option<PathBuf> {
    let host = output_of(&mut program("rustc", &["--print", "host-tuple"]));
    let Some(host) = host else {
        report.verdict("host", Err("rustc does not say it".to_owned()));
        return None;
    };
    let mut build = cargo(&["build", "--locked", "--profile", "tool", "--target", &host]);
    build.args(PACKAGE.split(' ')).env("RUSTFLAGS", FLAGS);
    let is_built = report.check("a static program", &mut build);
    is_built.then(|| target().join(host).join("tool/randflake"))
}

/// What the image is built from, and what buildah would look for in `/etc/containers`.
fn prepared(built: &Path) -> io::Result<Scratch> {
    const POLICY: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;
    let scratch = Scratch::new("image")?;
    let place = |name: &str| scratch.path().join(name);
    fs::create_dir_all(place("image/state"))?;
    fs::copy(built, place("image/randflake"))?;
    fs::write(place("policy.json"), POLICY)?;
    fs::write(place("registries.conf"), "")?;
    fs::write(place("check.sh"), include_str!("image.sh"))?;
    Ok(scratch)
}

struct Buildah {
    program: PathBuf,
    folder: PathBuf,
}

impl Buildah {
    /// With all that it keeps in the folder.
    fn command(&self) -> Command {
        let place = |name: &str| self.folder.join(name);
        let mut command = program(&self.program.to_string_lossy(), &[""; 0]);
        command.args(["--storage-driver", "vfs", "--root"]);
        command
            .arg(place("storage"))
            .arg("--runroot")
            .arg(place("run"));
        command
            .arg("--registries-conf")
            .arg(place("registries.conf"));
        command
    }

    fn build(&self) -> Command {
        let mut command = self.command();
        command.args(["build", "--isolation", "chroot", "--signature-policy"]);
        command.arg(self.folder.join("policy.json"));
        command.args(["--target", "prebuilt", "--build-arg", "BASE=scratch"]);
        command.args(["--tag", "randflake", "--file"]);
        command
            .arg(root().join(DOCKERFILE))
            .arg(self.folder.join("image"));
        command
    }

    /// As a shell's words.
    fn line(&self) -> String {
        crate::cargo::shown(&self.command())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_dockerfile_builds_what_the_image_is_tested_with() {
        assert_eq!(super::as_in_dockerfile(), Ok(()));
    }
}
