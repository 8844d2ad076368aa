//! `engines`: the lease stores on the servers that people run, started by the tests themselves.

use std::process::Command;

use crate::matrix::{host_tests, separate_test};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::{
    ETCD, IP, LIBFAKETIME, LINUX, MARIADB, MARIADB_INSTALL, MKFS_EXT4, POSTGRES, QEMU_X86, REDIS,
    Tool, is_root,
};

/// A tool, and the environment variable that tells tests where it is.
type Told = (&'static Tool, &'static str);

const REDIS_SERVER: Told = (&REDIS, "RANDFLAKE_REDIS_SERVER");
const ETCD_SERVER: Told = (&ETCD, "RANDFLAKE_ETCD");
const POSTGRES_PROGRAMS: Told = (&POSTGRES, "RANDFLAKE_POSTGRES");
const MARIADB_SERVER: Told = (&MARIADB, "RANDFLAKE_MARIADBD");
const MARIADB_SETUP: Told = (&MARIADB_INSTALL, "RANDFLAKE_MARIADB_INSTALL_DB");
const WALL_CLOCK: Told = (&LIBFAKETIME, "RANDFLAKE_LIBFAKETIME");
/// Whoever mounts a file system must be root too.
const FILE_SYSTEM: Told = (&MKFS_EXT4, "RANDFLAKE_MKFS_EXT4");

/// The same for networks.
const NETWORKS: Told = (&IP, "RANDFLAKE_IP");

const ALL_ENGINES: &[Told] = &[
    REDIS_SERVER,
    ETCD_SERVER,
    POSTGRES_PROGRAMS,
    MARIADB_SERVER,
    MARIADB_SETUP,
];

/// A test program, and the tools that it needs.
pub(crate) struct Test {
    name: &'static str,
    tools: &'static [Told],
}

const TESTS: &[Test] = &[
    Test {
        name: "servers",
        tools: &[
            REDIS_SERVER,
            ETCD_SERVER,
            POSTGRES_PROGRAMS,
            MARIADB_SERVER,
            MARIADB_SETUP,
            WALL_CLOCK,
        ],
    },
    Test {
        name: "volumes",
        tools: &[FILE_SYSTEM],
    },
    Test {
        name: "contract_redis",
        tools: &[REDIS_SERVER],
    },
    Test {
        name: "contract_etcd",
        tools: &[ETCD_SERVER],
    },
    Test {
        name: "contract_postgres",
        tools: &[POSTGRES_PROGRAMS],
    },
    Test {
        name: "postgresql",
        tools: &[POSTGRES_PROGRAMS, WALL_CLOCK],
    },
    Test {
        name: "segment_faults",
        tools: ALL_ENGINES,
    },
    Test {
        name: "encryption",
        tools: ALL_ENGINES,
    },
    Test {
        name: "doctors",
        tools: ALL_ENGINES,
    },
    Test {
        name: "starters",
        tools: ALL_ENGINES,
    },
    Test {
        name: "contract_mysql",
        tools: &[MARIADB_SERVER, MARIADB_SETUP, WALL_CLOCK],
    },
];

/// Run by the part `integrations`, in another workspace.
pub(crate) const DATABASES: Test = Test {
    name: "integrations",
    tools: &[
        REDIS_SERVER,
        POSTGRES_PROGRAMS,
        MARIADB_SERVER,
        MARIADB_SETUP,
    ],
};

/// Run by the part `faults`.
pub(crate) const FAULTS: Test = Test {
    name: "faults",
    tools: &[
        REDIS_SERVER,
        ETCD_SERVER,
        POSTGRES_PROGRAMS,
        MARIADB_SERVER,
        MARIADB_SETUP,
        WALL_CLOCK,
    ],
};

/// Run by the part `faults`. Without root it is left out by name.
pub(crate) const OUTAGES: Test = Test {
    name: "outages",
    tools: &[
        REDIS_SERVER,
        ETCD_SERVER,
        POSTGRES_PROGRAMS,
        MARIADB_SERVER,
        MARIADB_SETUP,
        FILE_SYSTEM,
        NETWORKS,
    ],
};

/// Run by the subcommand `chaos`.
pub(crate) const CHAOS: Test = Test {
    name: "chaos",
    tools: ALL_ENGINES,
};

/// Run by the part `serve`, on one engine.
pub(crate) const CHAOS_ON_POSTGRES: Test = Test {
    name: "chaos",
    tools: &[POSTGRES_PROGRAMS],
};

/// Run by the subcommand `soak`.
pub(crate) const SOAK: Test = Test {
    name: "soak",
    tools: ALL_ENGINES,
};

/// Run by the subcommand `copies`.
pub(crate) const COPIED_MACHINES: Test = Test {
    name: "copied_machines",
    tools: &[
        REDIS_SERVER,
        (&QEMU_X86, "RANDFLAKE_QEMU"),
        (&LINUX, "RANDFLAKE_LINUX"),
    ],
};

/// Run by `bench`.
pub(crate) const LEASES: Test = Test {
    name: "leases",
    tools: ALL_ENGINES,
};

pub(crate) fn needs() -> Vec<Need> {
    TESTS.iter().flat_map(Test::needs).collect()
}

pub(crate) fn run(report: &mut Report) {
    // All at once, on all processors; what follows mostly waits.
    let mut build = host_tests();
    build.arg("--no-run");
    for test in TESTS {
        build.args(["--test", test.name]);
    }
    report.check("build", &mut build);
    for test in TESTS {
        test.run(report);
    }
}

impl Test {
    pub(crate) fn needs(&self) -> Vec<Need> {
        let tools = self.tools.iter();
        tools.map(|(tool, _)| Need::Tool(tool)).collect()
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
        let mut variables = self.tools.iter().map(|(_, variable)| *variable);
        variables.any(|variable| variable == FILE_SYSTEM.1)
    }

    /// Tells a program where the tools are, if all are there.
    pub(crate) fn tell(&self, report: &mut Report, command: &mut Command) -> bool {
        for (tool, variable) in self.tools {
            let Some(path) = report.tool(tool, self.name) else {
                return false;
            };
            command.env(variable, path);
        }
        true
    }
}
