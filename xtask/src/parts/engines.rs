//! `engines`: the lease stores on the servers that people run, started by the tests themselves.

use std::process::Command;

use crate::helpers::prelude::*;

/// A tool, and the environment variable that tells tests where it is.
type Told = (&'static Tool, &'static str);

const REDIS_SERVER: &[Told] = &[(&REDIS, "RANDFLAKE_REDIS_SERVER")];
const ETCD_SERVER: &[Told] = &[(&ETCD, "RANDFLAKE_ETCD")];
const POSTGRES_PROGRAMS: &[Told] = &[(&POSTGRES, "RANDFLAKE_POSTGRES")];
const MARIADB_SERVER: &[Told] = &[
    (&MARIADB, "RANDFLAKE_MARIADBD"),
    (&MARIADB_INSTALL, "RANDFLAKE_MARIADB_INSTALL_DB"),
];
const WALL_CLOCK: &[Told] = &[(&LIBFAKETIME, "RANDFLAKE_LIBFAKETIME")];
/// Mounting a file system also needs root.
const FILE_SYSTEM: &[Told] = &[(&MKFS_EXT4, "RANDFLAKE_MKFS_EXT4")];
/// The same for networks.
const NETWORKS: &[Told] = &[(&IP, "RANDFLAKE_IP")];
const MACHINE: &[Told] = &[(&QEMU_X86, "RANDFLAKE_QEMU"), (&LINUX, "RANDFLAKE_LINUX")];

const ALL_ENGINES: &[&[Told]] = &[REDIS_SERVER, ETCD_SERVER, POSTGRES_PROGRAMS, MARIADB_SERVER];
const ALL_ENGINES_AND_WALL_CLOCK: &[&[Told]] = &[
    REDIS_SERVER,
    ETCD_SERVER,
    POSTGRES_PROGRAMS,
    MARIADB_SERVER,
    WALL_CLOCK,
];

/// A test program, and the tools that it needs.
pub(crate) struct Test {
    name: &'static str,
    tools: &'static [&'static [Told]],
}

const fn test(name: &'static str, tools: &'static [&'static [Told]]) -> Test {
    Test { name, tools }
}

const TESTS: &[Test] = &[
    CONTRACTS,
    test("engines", ALL_ENGINES_AND_WALL_CLOCK),
    test("volumes", &[FILE_SYSTEM]),
    test("doctors", ALL_ENGINES),
    test("starters", ALL_ENGINES),
];

/// The program of this name in the folder of each engine. By the subcommand `histories`, with more of two of its tests.
pub(crate) const CONTRACTS: Test = test("engine", ALL_ENGINES_AND_WALL_CLOCK);

/// Run by the part `integrations`, in another workspace.
pub(crate) const DATABASES: Test = test(
    "integrations",
    &[REDIS_SERVER, POSTGRES_PROGRAMS, MARIADB_SERVER],
);

/// Run by the part `faults`.
pub(crate) const FAULTS: Test = test("faults", ALL_ENGINES_AND_WALL_CLOCK);

/// Run by the part `sql`.
pub(crate) const SQL_ON_MARIADB: Test = test("sql", &[MARIADB_SERVER]);

/// Run by the part `sql`.
pub(crate) const SQL_CASES_ON_MARIADB: Test = test("sql_cases", &[MARIADB_SERVER]);

/// Run by the part `faults`. Without root it is left out by name.
pub(crate) const OUTAGES: Test = test(
    "outages",
    &[
        REDIS_SERVER,
        ETCD_SERVER,
        POSTGRES_PROGRAMS,
        MARIADB_SERVER,
        FILE_SYSTEM,
        NETWORKS,
    ],
);

/// Run by the part `deploy`.
pub(crate) const DEPLOYMENT: Test = test(
    "deployment",
    &[
        POSTGRES_PROGRAMS,
        &[
            (&KUBECTL, "RANDFLAKE_KUBECTL"),
            (&REDIS_CLI, "RANDFLAKE_REDIS_CLI"),
            (&OPENSSL, "RANDFLAKE_OPENSSL"),
        ],
    ],
);

/// Run by the part `sql`.
pub(crate) const SQL: Test = test("sql", &[POSTGRES_PROGRAMS]);

/// Run by the part `sql`.
pub(crate) const SQL_CASES: Test = test("sql_cases", &[POSTGRES_PROGRAMS]);

/// Run by the subcommand `chaos`.
pub(crate) const CHAOS: Test = test("chaos", ALL_ENGINES);

/// Run by the part `serve`, on one engine.
pub(crate) const CHAOS_ON_POSTGRES: Test = test("chaos", &[POSTGRES_PROGRAMS]);

/// Run by the subcommand `soak`.
pub(crate) const SOAK: Test = test("soak", ALL_ENGINES_AND_WALL_CLOCK);

/// Run by the part `faults`, on one engine.
pub(crate) const SOAK_ON_REDIS: Test = test("soak", &[REDIS_SERVER, WALL_CLOCK]);

/// Run by the subcommand `copies`.
pub(crate) const COPIED_MACHINES: Test = test("copied_machines", &[REDIS_SERVER, MACHINE]);

/// Run by the part `faults`: what needs no machine.
pub(crate) const MACHINE_PROGRAM: Test = test("copied_machines", &[REDIS_SERVER]);

/// Run by the benchmark of that name.
pub(crate) const PRIMARY_KEYS: Test = test("index", &[POSTGRES_PROGRAMS, MARIADB_SERVER]);

/// The same, and with a short form by the part `serve`.
pub(crate) const LOADED_SERVER: Test = test(
    "serve under load",
    &[
        REDIS_SERVER,
        &[
            (&REDIS_BENCHMARK, "RANDFLAKE_REDIS_BENCHMARK"),
            (&WRK, "RANDFLAKE_WRK"),
        ],
    ],
);

pub(crate) const LEASES: Test = test("leases", ALL_ENGINES);

pub(crate) fn needs() -> Vec<Need> {
    TESTS.iter().flat_map(Test::needs).collect()
}

pub(crate) fn run(report: &mut Report) {
    // All at once, on all processors; what follows mostly waits.
    let mut build = host_tests();
    build.args(["--no-run", "--bench", LEASES.name]);
    for test in TESTS {
        build.args(["--test", test.name]);
    }
    report.check("build", &mut build);
    for test in TESTS {
        test.run(report);
    }
    // The whole benchmark on each engine, with few node ids.
    let mut measure = host_tests();
    measure.args(["--bench", LEASES.name]);
    if LEASES.tell(report, &mut measure) {
        report.check("bench leases", &mut measure);
    }
}

impl Test {
    fn tools(&self) -> impl Iterator<Item = Told> {
        self.tools.iter().copied().flatten().copied()
    }

    pub(crate) fn needs(&self) -> Vec<Need> {
        self.tools().map(|(tool, _)| Need::Tool(tool)).collect()
    }

    pub(crate) fn run(&self, report: &mut Report) {
        self.run_with(report, |_| {});
    }

    /// With a command that is changed first.
    pub(crate) fn run_with(&self, report: &mut Report, change: impl FnOnce(&mut Command)) {
        if self.mounts() && !is_root() {
            report.leave_out(&format!(
                "{} (mounts file systems, which needs root)",
                self.name
            ));
            return;
        }
        let mut command = separate_test(self.name);
        // They mostly wait. For those with the standard harness; the others choose themselves.
        command.env("RUST_TEST_THREADS", "4");
        change(&mut command);
        if self.tell(report, &mut command) {
            report.tests(self.name, &mut command);
        }
    }

    fn mounts(&self) -> bool {
        self.tools().any(|(tool, _)| tool.name == MKFS_EXT4.name)
    }

    /// Tells a program where the tools are, if all are there.
    pub(crate) fn tell(&self, report: &mut Report, command: &mut Command) -> bool {
        for (tool, variable) in self.tools() {
            let Some(path) = report.tool(tool, self.name) else {
                return false;
            };
            command.env(variable, path);
        }
        true
    }
}
