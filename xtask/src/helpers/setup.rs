//! Brings what the parts need: Rust components and targets through rustup, outside tools through
//! apt.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::cargo::{cargo, nightly, output_of, program, shown};
use crate::helpers::files;
use crate::helpers::report::Report;
use crate::helpers::tools::{self, Tool};

/// Something that must be on the machine.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// A cargo subcommand, and the component that brings it.
    Command(&'static str, &'static str),
    /// The standard library for another machine.
    Target(&'static str),
    /// A nightly toolchain with Miri and the standard library's source, from which Miri builds its
    /// own.
    Miri,
    /// A nightly toolchain with the programs that read what instrumented ones have counted.
    LlvmTools,
    Tool(&'static Tool),
}

/// Builds the tests of this machine.
pub(crate) const CLIPPY: Need = Need::Command("clippy", "clippy");

/// Brings what can be brought; reports the rest as failed, with the commands. What counts is
/// whether a thing is there afterwards, not what the installer said.
pub(crate) fn prepare(needs: &[Need], report: &mut Report) {
    prepare_rust(needs, report);
    prepare_tools(needs, report);
}

/// What comes with Rust.
pub(crate) fn prepare_rust(needs: &[Need], report: &mut Report) {
    let mut names: Vec<String> = Vec::new();
    for need in [&CLIPPY].into_iter().chain(needs) {
        let name = need.name();
        if matches!(need, Need::Tool(_)) || names.contains(&name) {
            continue;
        }
        let remedy = if need.is_there() {
            String::new()
        } else {
            need.bring()
        };
        if remedy.is_empty() || need.is_there() {
            report.verdict(&name, Ok::<_, String>(()));
        } else {
            report.missing(&name, remedy);
        }
        names.push(name);
    }
}

/// What does not.
pub(crate) fn prepare_tools(needs: &[Need], report: &mut Report) {
    let mut names = Vec::new();
    let mut missing_tools = Vec::new();
    for need in needs {
        let Need::Tool(tool) = need else { continue };
        if report.host_only() || names.contains(&tool.name) {
            continue;
        }
        if tool.find().is_some() {
            report.verdict(tool.name, Ok::<_, String>(()));
        } else {
            missing_tools.push(*tool);
        }
        names.push(tool.name);
    }
    if missing_tools.is_empty() {
        return;
    }
    let mut not_brought = Vec::new();
    tools::bring(&missing_tools, |tool, done| {
        if let Ok(done) = &done {
            println!("{}: {done}", tool.name);
        }
        let done = done.map_err(|why| format!("missing (--host-only goes without): {why}"));
        if !report.verdict(tool.name, done) {
            not_brought.push(tool);
        }
    });
    if !not_brought.is_empty() {
        report.remedy(tools::command(&not_brought));
    }
}

impl Need {
    fn name(&self) -> String {
        match self {
            Self::Command(_, component) => format!("the component {component}"),
            Self::Target(target) => format!("the target {target}"),
            Self::Miri => "a nightly toolchain with miri and rust-src".to_owned(),
            Self::LlvmTools => "a nightly toolchain with llvm-tools".to_owned(),
            Self::Tool(tool) => tool.name.to_owned(),
        }
    }

    fn is_there(&self) -> bool {
        match self {
            Self::Command(command, _) => {
                output_of(&mut cargo(&format!("{command} --version"))).is_some()
            }
            Self::Target(target) => libraries(program("rustc", "--print sysroot"))
                .is_some_and(|path| path.join(target).is_dir()),
            Self::Miri => {
                output_of(&mut nightly("cargo miri --version")).is_some()
                    && libraries(nightly("rustc --print sysroot"))
                        .is_some_and(|path| path.join("src/rust/library/Cargo.toml").is_file())
            }
            Self::LlvmTools => llvm_tools().is_some(),
            Self::Tool(tool) => tool.find().is_some(),
        }
    }

    /// Tries to install it; the command a user would type.
    fn bring(&self) -> String {
        let mut command = match self {
            Self::Command(_, component) => program("rustup", &format!("component add {component}")),
            Self::Target(target) => program("rustup", &format!("target add {target}")),
            // A whole toolchain is not brought unasked. The command also steps back to the newest
            // nightly that has the components.
            Self::Miri => return nightly_with(&["miri", "rust-src"]),
            Self::LlvmTools => return nightly_with(&["llvm-tools"]),
            Self::Tool(tool) => return tools::command(&[tool]),
        };
        run(&mut command);
        shown(&command)
    }
}

/// Adds components to the nightly toolchain, if there is one; the command that brings both.
fn nightly_with(components: &[&str]) -> String {
    run(program("rustup", "component add --toolchain nightly").args(components));
    let components = components.join(" --component ");
    format!("rustup toolchain install nightly --profile minimal --component {components}")
}

/// The folder of the nightly toolchain's `llvm-cov` and `llvm-profdata`.
fn llvm_tools() -> Option<PathBuf> {
    let targets = files::entries(&libraries(nightly("rustc --print sysroot"))?);
    let mut folders = targets.iter().map(|target| target.join("bin"));
    folders.find(|folder| folder.join("llvm-cov").is_file())
}

fn libraries(mut print_sysroot: Command) -> Option<PathBuf> {
    output_of(&mut print_sysroot).map(|sysroot| Path::new(&sysroot).join("lib/rustlib"))
}

fn run(command: &mut Command) {
    println!("\n$ {}", shown(command));
    _ = command.status();
}
