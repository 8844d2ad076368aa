//! The libraries and their features: what `features`, `unit` and `no-std` go through. The features
//! are those of the manifests; here stands which of them are integrations.

use std::process::Command;
use std::sync::LazyLock;

use crate::helpers::cargo::{cargo, root};
use crate::helpers::clippy;
use crate::helpers::files;
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
        let text = files::read(&root().join(self.folder).join("Cargo.toml"));
        Manifest::parse(&text.unwrap_or_default()).unwrap_or_default()
    }

    /// The features that are no integrations.
    pub(crate) fn features(&self) -> Vec<String> {
        let features = self
            .manifest()
            .features
            .into_iter()
            .map(|feature| feature.name);
        features
            .filter(|name| !self.integrations.contains(&&**name))
            .collect()
    }

    /// The same, as `--features` takes them.
    pub(crate) fn all_features(&self) -> String {
        self.features().join(",")
    }

    /// The programs in `tests` that no part of its own runs.
    pub(crate) fn test_programs(&self) -> Vec<String> {
        let separate = self.manifest().separate_tests;
        let paths = files::entries(&root().join(self.folder).join("tests")).into_iter();
        paths
            .filter(|path| {
                path.extension().is_some_and(|kind| kind == "rs") || path.join("main.rs").is_file()
            })
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| !separate.contains(name))
            .collect()
    }
}

/// Whether a package is an engine of lease stores.
pub(crate) fn is_engine(name: &str) -> bool {
    let found = LIBRARIES.iter().find(|library| library.name == name);
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
    published()
        .flat_map(|library: &Library| -> Vec<String> {
            features(library)
                .iter()
                .map(|feature| format!("{}/{feature}", library.name))
                .collect()
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// Tests of this machine: of all libraries, with all features but integrations. Cargo unites the
/// features of what it builds at once, so each other choice of packages or features would build
/// most dependencies once more.
pub(crate) fn host_tests() -> Command {
    let mut command = cargo("test --workspace --exclude xtask --features");
    clippy::while_building(command.arg(host_features()));
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
    let mut command = cargo(&format!("test --no-fail-fast --target {target}"));
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
    let mut all = vec![
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
    all.extend(engines());
    all.extend([
        Library {
            integrations: INTEGRATIONS.split_at(1).1,
            ..library("randflake-std", false)
        },
        library("randflake-embedded", true),
    ]);
    all
});

/// The folder of the engines of lease stores, each a package.
pub(crate) const ENGINES: &str = "randflake-std/engines";

/// The names of its folders.
pub(crate) fn engine_names() -> Vec<String> {
    let folders = files::entries(&root().join(ENGINES)).into_iter();
    folders
        .filter_map(|folder| folder.file_name()?.to_str().map(str::to_owned))
        .collect()
}

/// The engines, those that others stand on first.
fn engines() -> Vec<Library> {
    // They live as long as this program.
    let engine = |name: String| Library {
        folder: String::leak(format!("{ENGINES}/{name}")),
        ..library(String::leak(format!("randflake-{name}")), false)
    };
    let mut engines: Vec<Library> = engine_names().into_iter().map(engine).collect();
    engines.sort_by_key(|engine| {
        let known = engine.manifest().dependencies;
        (
            known
                .iter()
                .filter(|name| name.starts_with("randflake-"))
                .count(),
            engine.name,
        )
    });
    engines
}

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
