//! The libraries and their features: what `features`, `unit` and `no-std` go through. The features
//! are those of the manifests; here stands which of them are integrations.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::helpers::cargo::{cargo, root};
use crate::helpers::clippy;
use crate::helpers::manifest::Manifest;

pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// Where it is, from the root.
    pub(crate) folder: &'static str,
    /// Features for the traits of crates that need an operating system, or are large: built and
    /// tested by the part `integrations`.
    pub(crate) integrations: &'static [&'static str],
    /// Also runs where there is no operating system.
    pub(crate) no_std: bool,
}

impl Library {
    /// Cargo reads the same file: without it no command succeeds.
    pub(crate) fn manifest(&self) -> Manifest {
        let text = fs::read_to_string(root().join(self.folder).join("Cargo.toml"));
        Manifest::parse(&text.unwrap_or_default()).unwrap_or_default()
    }

    /// The features that are no integrations.
    pub(crate) fn features(&self) -> Vec<String> {
        let features = self
            .manifest()
            .features
            .into_iter()
            .map(|feature| feature.name);
        let is_other = |name: &String| !self.integrations.contains(&&**name);
        features.filter(is_other).collect()
    }

    /// The programs in `tests` that no part of its own runs.
    pub(crate) fn test_programs(&self) -> Vec<String> {
        let entries = fs::read_dir(root().join(self.folder).join("tests"));
        let paths = entries.into_iter().flatten().flatten();
        let paths = paths.map(|entry| entry.path());
        let is_program = |path: &PathBuf| {
            path.extension().is_some_and(|kind| kind == "rs") || path.join("main.rs").is_file()
        };
        let names = paths
            .filter(is_program)
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        let separate = self.manifest().separate_tests;
        let mut names: Vec<String> = names.filter(|name| !separate.contains(name)).collect();
        names.sort_unstable();
        names
    }

    /// The same, as `--features` takes them.
    pub(crate) fn all_features(&self) -> String {
        self.features().join(",")
    }
}

/// Whether a package is an engine of lease stores.
pub(crate) fn is_engine(name: &str) -> bool {
    let is_named = |library: &&Library| library.name == name;
    let found = LIBRARIES.iter().find(is_named);
    found.is_some_and(|library| library.folder.starts_with(ENGINES))
}

/// All of the whole workspace.
pub(crate) fn all_features() -> String {
    all_features_but(&[])
}

/// The same without some.
pub(crate) fn all_features_but(left_out: &[&str]) -> String {
    united(|library| {
        let integrations = library.integrations.iter().map(|name| (*name).to_owned());
        let all = library.features().into_iter().chain(integrations);
        all.filter(|name| !left_out.contains(&&**name)).collect()
    })
}

/// Those of some libraries, without integrations, as `--features` takes them.
pub(crate) fn features_of(packages: &[&str]) -> String {
    united(|library| {
        if packages.contains(&library.name) {
            library.features()
        } else {
            Vec::new()
        }
    })
}

fn united(features: impl Fn(&Library) -> Vec<String>) -> String {
    let names = |library: &Library| {
        let features = features(library).into_iter();
        let names = features.map(|feature| format!("{}/{feature}", library.name));
        names.collect::<Vec<_>>()
    };
    let all: Vec<String> = published().flat_map(names).collect();
    all.join(",")
}

/// Tests of this machine: of all libraries, with all features but integrations. Cargo unites the
/// features of what it builds at once, so each other choice of packages or features would build
/// most dependencies once more.
pub(crate) fn host_tests() -> Command {
    let mut command = cargo(&["test", "--workspace", "--exclude", "xtask"]);
    clippy::while_building(command.args(["--features", &host_features()]));
    command
}

/// All but integrations, whose crates are most of what a build would take.
pub(crate) fn host_features() -> String {
    united(Library::features)
}

/// Runs one of the separate tests.
pub(crate) fn separate_test(target: &str) -> Command {
    let mut command = host_tests();
    command.args(["--test", target]);
    command
}

/// Runs one of the tests of the rules of leases, which goes through millions of cases: it and what
/// it searches are optimised. What they stand on is what the other tests are built with.
pub(crate) fn test_of_rules(target: &str) -> Command {
    let mut command = separate_test(target);
    clippy::not_while_building(&mut command);
    for package in ["sparx64", "randflake-core", "randflake-lease"] {
        let setting = format!("profile.test.package.{package}.opt-level=3");
        command.args(["--config", &setting]);
    }
    command
}

/// Only the tests and the libraries are optimised; what they stand on is built as quickly as can
/// be, and not twice.
pub(crate) fn optimised(level: u8, command: &mut Command) -> &mut Command {
    let settings = [
        &*format!("profile.test.opt-level={level}"),
        "profile.test.package.'*'.opt-level=0",
        // Starts servers.
        "profile.test.package.harness.opt-level=0",
    ];
    clippy::not_while_building(command);
    command.args(settings.iter().flat_map(|setting| ["--config", setting]))
}

/// The libraries whose tests run on other machines too.
pub(crate) const LIGHT: [&str; 2] = ["sparx64", "randflake-core"];

/// Their tests, built for one of these machines.
pub(crate) fn light_tests(target: &str, features: &str) -> Command {
    let mut command = cargo(&["test", "--no-fail-fast", "--target", target]);
    command.args(LIGHT.iter().flat_map(|name| ["--package", name]));
    optimised(1, command.args(["--features", features]));
    command
}

/// Has macros built with the same features whatever else is chosen: see its manifest.
pub(crate) const HOST_MACROS: &str = "host-macros";

const fn library(name: &'static str, no_std: bool) -> Library {
    Library {
        name,
        folder: name,
        integrations: &[],
        no_std,
    }
}

/// Those of core, which has the code, and of std, which passes them on: there `redis`, the first,
/// is a store too, so that all tests use it.
pub(crate) const INTEGRATIONS: &[&str] = &[
    "redis",
    "arbitrary",
    "async-graphql",
    "borsh",
    "diesel",
    "diesel-sqlite",
    "postgres-types",
    "proptest",
    "rusqlite",
    "schemars",
    "sea-orm",
    "sqlx",
    "utoipa",
];

/// In the order in which they are published: none depends on a later one.
pub(crate) static LIBRARIES: LazyLock<Vec<Library>> = LazyLock::new(|| {
    let mut all = Vec::from(BELOW_ENGINES);
    all.extend(engines());
    all.extend(ABOVE_ENGINES);
    all
});

/// The folder of the engines of lease stores, each a package.
pub(crate) const ENGINES: &str = "randflake-std/engines";

/// The engines, those that others stand on first.
fn engines() -> Vec<Library> {
    let entries = fs::read_dir(root().join(ENGINES)).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut engines: Vec<Library> = names.map(|name| engine(&name)).collect();
    engines.sort_by_key(|engine| {
        let known = engine
            .manifest()
            .dependencies
            .into_iter()
            .filter(|name| name.starts_with("randflake-"));
        (known.count(), engine.name)
    });
    engines
}

/// An engine by the name of its folder. It lives as long as this program.
fn engine(name: &str) -> Library {
    Library {
        folder: String::leak(format!("{ENGINES}/{name}")),
        ..library(String::leak(format!("randflake-{name}")), false)
    }
}

const BELOW_ENGINES: [Library; 3] = [
    library("sparx64", true),
    Library {
        integrations: INTEGRATIONS,
        ..library("randflake-core", true)
    },
    Library {
        folder: "randflake-std/lease",
        ..library("randflake-lease", false)
    },
];

const ABOVE_ENGINES: [Library; 2] = [
    Library {
        integrations: INTEGRATIONS.split_at(1).1,
        ..library("randflake-std", false)
    },
    library("randflake-embedded", true),
];

/// The command line tool, which is no library.
pub(crate) const TOOL: Library = Library {
    folder: "randflake-std/tool",
    ..library("randflake", false)
};

/// What the tool is made of: libraries of one program, whose interfaces have no list.
const PARTS_OF_TOOL: &[Library] = &[
    Library {
        folder: "randflake-std/common",
        ..library("randflake-common", false)
    },
    Library {
        folder: "randflake-std/serve",
        ..library("randflake-serve", false)
    },
];

/// In the order in which they are published: none depends on a later one.
pub(crate) fn published() -> impl Iterator<Item = &'static Library> {
    LIBRARIES.iter().chain(PARTS_OF_TOOL).chain([&TOOL])
}
