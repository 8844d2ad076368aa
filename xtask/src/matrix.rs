//! The libraries and their features: what `features`, `unit` and `no-std` go through. `tidy` compares it with the
//! manifests, so that nothing is forgotten here.

pub(crate) struct Library {
    pub(crate) name: &'static str,
    pub(crate) features: &'static [&'static str],
    /// Also runs where there is no operating system.
    pub(crate) no_std: bool,
}

pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        name: "sparx64",
        features: &["cipher", "zeroize"],
        no_std: true,
    },
    Library {
        name: "randflake-core",
        features: &[],
        no_std: true,
    },
    Library {
        name: "randflake-std",
        features: &["sqlite", "cli"],
        no_std: false,
    },
    Library {
        name: "randflake-embedded",
        features: &["critical-section"],
        no_std: true,
    },
];

/// Test targets with `test = false` in their manifest: `cargo test` passes over them, and a part of its own runs them.
/// (package, target, part)
pub(crate) const SEPARATE_TESTS: &[(&str, &str, &str)] = &[
    ("randflake-std", "interop", "interop"),
    ("randflake-std", "processes", "faults"),
];
