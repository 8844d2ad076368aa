//! `counts`: how large the project is and how much one must know of it, by figures that compare two states of it.

mod names;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use self::source::{LineKind, SourceLines};
use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::root;
use crate::tidy::Manifest;

pub(crate) const HELP: &str = "lines, features, names with two meanings\n\n\
     --list  also names what is counted: types with two meanings, short doc comments\n\
     FOLDER  another clone or worktree of this project; this one unless given\n";

/// Engines whose name is not also a protocol's or a format's.
const ENGINES: [&str; 2] = ["etcd", "mysql"];

struct CountedPackage {
    name: String,
    sources: Vec<SourceLines>,
    features: usize,
    optional: usize,
}

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let lists = typed.contains("--list");
    let folder: Option<PathBuf> = typed
        .opt_free_from_str()
        .map_err(|error| error.to_string())?;
    apart::nothing_else(typed)?;
    let folder = folder.unwrap_or_else(root);
    let packages = packages(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    rooms(&packages);
    figures(&packages, lists);
    Ok(ExitCode::SUCCESS)
}

/// The members of the workspace.
fn packages(folder: &Path) -> io::Result<Vec<CountedPackage>> {
    let manifest = |folder: &Path| {
        let text = fs::read_to_string(folder.join("Cargo.toml"))?;
        let manifest = Manifest::parse(&text).map_err(io::Error::other)?;
        Ok::<_, io::Error>((text, manifest))
    };
    let (_, workspace) = manifest(folder)?;
    let packages = workspace.members.into_iter().map(|name| {
        let (text, manifest) = manifest(&folder.join(&name))?;
        Ok(CountedPackage {
            sources: SourceLines::all(&folder.join(&name).join("src"))?,
            features: manifest.features.len(),
            optional: text.matches("optional = true").count(),
            name,
        })
    });
    packages.collect()
}

/// Lines of each folder; the files beside the folders are together.
fn rooms(packages: &[CountedPackage]) {
    const KINDS: [LineKind; 4] = [
        LineKind::Code,
        LineKind::Doc,
        LineKind::Comment,
        LineKind::Test,
    ];
    println!(
        "{:36}{:>8}{:>8}{:>10}{:>8}{:>16}",
        "room", "code", "docs", "comments", "tests", "comments/code"
    );
    let row = |name: &str, counts: [usize; 4]| {
        let [code, docs, comments, tests] = counts;
        #[expect(clippy::cast_precision_loss, reason = "lines of code are few")]
        let ratio = comments as f64 / code.max(1) as f64;
        println!("{name:36}{code:>8}{docs:>8}{comments:>10}{tests:>8}{ratio:>16.3}");
    };
    let add = |sum: &mut [usize; 4], source: &SourceLines| {
        for (sum, kind) in sum.iter_mut().zip(KINDS) {
            *sum += source.count(kind);
        }
    };
    let mut all = [0; 4];
    for package in packages {
        let mut rooms: BTreeMap<String, [usize; 4]> = BTreeMap::new();
        let mut whole = [0; 4];
        for source in &package.sources {
            let folder = source
                .path
                .iter()
                .next()
                .filter(|_| source.path.iter().count() > 1);
            let room = folder.map_or_else(
                || "(files)".to_owned(),
                |folder| folder.display().to_string(),
            );
            for sum in [&mut all, &mut whole, rooms.entry(room).or_default()] {
                add(sum, source);
            }
        }
        row(&package.name, whole);
        for (room, counts) in rooms {
            row(&format!("    {room}"), counts);
        }
    }
    row("all", all);
}

fn figures(packages: &[CountedPackage], lists: bool) {
    let list = |lines: Vec<String>| {
        for line in lines.iter().filter(|_| lists) {
            println!("    {line}");
        }
    };
    println!();
    for package in packages.iter().filter(|package| package.features > 0) {
        let CountedPackage {
            name,
            features,
            optional,
            ..
        } = package;
        println!("{name}: {features} features, {optional} optional dependencies");
    }
    for engine in ENGINES {
        for package in packages {
            let places = places(package, engine);
            if !places.is_empty() {
                let name = &package.name;
                println!(
                    "{engine}: {} files of {name} name it outside its folder",
                    places.len()
                );
                list(places);
            }
        }
    }
    let sources = packages.iter().flat_map(|package| {
        let sources = package.sources.iter();
        sources.map(|source| (&*package.name, source))
    });
    let twice = names::of_two_meanings(sources.clone());
    println!("{} names of types with more than one meaning", twice.len());
    let shown = |paths: Vec<PathBuf>| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    list(
        twice
            .into_iter()
            .map(|(name, paths)| format!("{name}: {}", shown(paths)))
            .collect(),
    );
    let short = sources.flat_map(|(package, source)| {
        let docs = names::short_docs(source).into_iter();
        docs.map(move |doc| format!("{package}/{}: {doc}", source.path.display()))
    });
    let short: Vec<_> = short.collect();
    println!("{} doc comments of at most three words", short.len());
    list(short);
}

/// Files whose code names an engine, outside the folders of its name.
fn places(package: &CountedPackage, engine: &str) -> Vec<String> {
    let names = |line: &str| line.to_lowercase().contains(engine);
    let is_place = |source: &&SourceLines| {
        let is_own = source.path.iter().any(|part| part == engine);
        !is_own && source.of_kind(LineKind::Code).any(names)
    };
    let places = package.sources.iter().filter(is_place);
    places
        .map(|source| source.path.display().to_string())
        .collect()
}
