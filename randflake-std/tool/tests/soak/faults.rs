//! Faults of a fleet and of the server of its store, beside the process that is killed each second.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use harness::proxy::Network;
use randflake_std::lease::{self, MAX_SKEW, Quarantine, StoreError};
use randflake_std::segment::{self, CounterError};
use tempfile::TempDir;

use crate::fleet::Fleet;
use crate::runs::namespace;
use crate::schedule::Fault::{
    self, AnotherPromoted, DataLost, EngineKilled, EngineSuspended, FilesRemoved, FilesRestored,
    FolderMoved, HoldersSuspended, NetworkFails, ServeKilled, ServeSuspended, WallClockJumps,
};
use crate::stage::{ServerStage, Stage};

const HOUR_MS: i64 = 3_600_000;
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(200);
/// More numbers than a fleet gets between two losses of the counter.
const FAR: u64 = 1_000_000_000_000;

/// How often each happened.
pub(crate) type Happened = BTreeMap<Fault, u32>;

impl Fault {
    /// Lets it happen.
    ///
    /// # Errors
    ///
    /// It could not happen here, and why.
    pub(crate) fn happen(self, fleet: &mut Fleet, stage: &mut dyn Stage) -> Result<(), String> {
        match self {
            HoldersSuspended => {
                // Those that are killed next are others.
                let seats = fleet.processes.len();
                let chosen = [seats / 2, seats - 1].map(|ahead| (fleet.killed + ahead) % seats);
                let signal =
                    |fleet: &Fleet, signal| chosen.map(|seat| fleet.processes[seat].signal(signal));
                signal(fleet, libc::SIGSTOP);
                // Their leases end meanwhile, and others get the node ids.
                thread::sleep(fleet.plan.ttl + Duration::from_secs(3));
                signal(fleet, libc::SIGCONT);
            }
            WallClockJumps => {
                for hours in [1, -2, 1] {
                    let clock = fleet.clock.as_ref();
                    let clock = clock.ok_or("no process has a wall clock of its own")?;
                    clock.step_ms(hours * HOUR_MS);
                    fleet.pass(fleet.plan.ttl / 2);
                }
            }
            ServeKilled => {
                let server = fleet.chosen_server()?;
                fleet.servers[server].restart();
            }
            ServeSuspended => {
                let server = fleet.chosen_server()?;
                fleet.servers[server].suspend();
                fleet.pass_leases();
                fleet.servers[server].resume();
            }
            FilesRemoved => {
                for file in fs::read_dir(folder(stage)?).unwrap() {
                    // The processes write and remove beside it.
                    _ = fs::remove_file(file.unwrap().path());
                }
                end_lost_files(fleet, stage);
            }
            FolderMoved => {
                let folder = folder(stage)?;
                let [away, other] = ["away", "other"].map(|name| folder.with_extension(name));
                fs::rename(&folder, &away).unwrap();
                fs::create_dir(&folder).unwrap();
                fleet.pass(fleet.plan.ttl);
                fs::rename(&folder, &other).unwrap();
                fs::rename(&away, &folder).unwrap();
                fleet.pass(fleet.plan.ttl);
                fs::remove_dir_all(&other).unwrap();
                end_lost_files(fleet, stage);
            }
            FilesRestored => {
                let folder = folder(stage)?;
                let backup = TempDir::new().unwrap();
                copy_files(&folder, backup.path());
                fleet.pass(fleet.plan.ttl);
                copy_files(backup.path(), &folder);
                end_lost_files(fleet, stage);
            }
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => {
                let server = stage.server().ok_or("the store has no server")?;
                self.happen_to_server(fleet, server)?;
                if self == DataLost {
                    // Nothing is granted.
                    meet_loss(fleet);
                    end_quarantines(fleet, stage);
                }
            }
        }
        Ok(())
    }

    fn happen_to_server(
        self,
        fleet: &mut Fleet,
        server: &mut dyn ServerStage,
    ) -> Result<(), String> {
        match self {
            EngineKilled => server.restart(),
            NetworkFails => {
                for network in [Network::LosesReplies, Network::Slow, Network::Cut] {
                    server.network(network);
                    fleet.pass(fleet.plan.ttl / 2);
                }
                server.network(Network::Works);
            }
            EngineSuspended => {
                server.suspend(false);
                fleet.pass(fleet.plan.ttl);
                server.suspend(true);
            }
            DataLost => server.empty(),
            AnotherPromoted => server.promote(fleet.plan.ttl)?,
            HoldersSuspended | ServeKilled | WallClockJumps | ServeSuspended | FilesRemoved
            | FolderMoved | FilesRestored => {}
        }
        Ok(())
    }
}

/// Lets time pass until what was leased before a loss is over.
fn meet_loss(fleet: &mut Fleet) {
    fleet.pass_leases();
    fleet.pass(Duration::from_secs(3));
}

/// A process that finds its file gone makes no other, and one that has seen a clock which was an
/// hour ahead starts the quarantine again, until then: a person starts all of them anew first.
fn end_lost_files(fleet: &mut Fleet, stage: &dyn Stage) {
    meet_loss(fleet);
    fleet.replace_all();
    end_quarantines(fleet, stage);
}

/// Ends the quarantine of a store that has lost its namespaces: it does not know that the longest
/// TTL is short. A quarantine that knows it is left to end by itself.
fn end_quarantines(fleet: &Fleet, stage: &dyn Stage) {
    let ttl = fleet.plan.ttl;
    for namespace in stage.namespaces(ttl) {
        patiently(|| {
            let mut store = lease::open(&stage.url(0), &namespace)?;
            let quarantine = store.administration().current_quarantine()?;
            let own = ttl + MAX_SKEW * 3;
            if quarantine
                .is_some_and(|quarantine: Quarantine| quarantine.until > quarantine.since + own)
            {
                store.administration().override_quarantine()?;
            }
            Ok(())
        });
    }
}

/// Copies files over those that are there, as `cp` does: between two operations of an SQLite store,
/// which hold its lock.
fn copy_files(from: &Path, to: &Path) {
    let lock = [from, to].map(|folder| File::open(folder.join("leases.db.lock")));
    let _between_operations = lock.map(|file| {
        let file = file.ok()?;
        file.lock().unwrap();
        Some(file)
    });
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn folder(stage: &dyn Stage) -> Result<PathBuf, String> {
    let folder = stage.folder().map(Path::to_owned);
    folder.ok_or_else(|| "the store has no files".to_owned())
}

/// A person who looks after the counter: its store may have lost it.
#[derive(Default)]
pub(crate) struct Operator {
    /// Times that it was lost.
    lost: u64,
}

impl Operator {
    /// Declares new what the store does not know yet: a server could have forgotten it.
    pub(crate) fn begin(stage: &mut dyn Stage, ttl: Duration) {
        let url = stage.url(0);
        if stage.server().is_some() {
            for namespace in stage.namespaces(ttl) {
                patiently(|| {
                    lease::open(&url, &namespace)?
                        .administration()
                        .end_quarantine()
                });
            }
        }
        if stage.has_counters() {
            let mut counter = segment::open(&url, &namespace(ttl)).unwrap();
            counter.counter().create().unwrap();
        }
    }

    /// Goes on with a counter that was lost, far above all numbers that can have been issued.
    pub(crate) fn look_after(&mut self, stage: &dyn Stage, ttl: Duration) -> Result<(), String> {
        if !stage.has_counters() {
            return Ok(());
        }
        let url = stage.url(0);
        let begun = Instant::now();
        loop {
            let reserved = segment::open(&url, &namespace(ttl))
                .map_err(|error| error.to_string())
                .and_then(|mut counter| {
                    match counter.counter().reserve(1) {
                        Err(CounterError::Lost { .. } | CounterError::Rewound { .. }) => {
                            self.lost += 1;
                            let number = self.lost * FAR;
                            counter.counter().resume(number).map(|_| ())
                        }
                        answer => answer.map(|_| ()),
                    }
                    .map_err(|error| error.to_string())
                });
            match reserved {
                Err(_) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
                answer => return answer.map_err(|error| format!("the counter: {error}")),
            }
        }
    }
}

/// What the store says to a new client, for the message of a fleet that has not gone on.
pub(crate) fn store_answer(stage: &dyn Stage, ttl: Duration) -> String {
    let namespaces = stage.namespaces(ttl).into_iter();
    let answers = namespaces.map(|namespace| {
        let store = lease::open(&stage.url(0), &namespace);
        let leases = store.and_then(|mut store| {
            Ok((
                store.administration().current_quarantine()?,
                store.list()?.len(),
            ))
        });
        match leases {
            Ok((None, leases)) => format!("{leases} records"),
            Ok((Some(quarantine), _)) => format!("quarantined: {quarantine:?}"),
            Err(error) => error.to_string(),
        }
    });
    answers.collect::<Vec<_>>().join("; ")
}

/// Asks again where a busy machine is late: the TTL is short, and so is the time for an answer.
pub(crate) fn patiently<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    let started = Instant::now();
    loop {
        match ask() {
            Err(StoreError::Unavailable(_)) if started.elapsed() < PATIENCE => {}
            answer => return answer.unwrap(),
        }
    }
}
