//! What happens to a fleet and the server of its store, beside the process that is killed each second.

use core::time::Duration;
use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use harness::proxy::Network;
use randflake_std::lease::{self, StoreError};

use crate::fleet::Fleet;
use crate::issuer::{TTL, namespace};
use crate::stage::{ServerStage, Stage};

const HOUR_MS: i64 = 3_600_000;
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    EngineKilled,
    NetworkFails,
    HoldersSuspended,
    AnotherPromoted,
    ServeKilled,
    WallClockJumps,
    EngineSuspended,
    DataLost,
    ServeSuspended,
}

use Fault::{
    AnotherPromoted, DataLost, EngineKilled, EngineSuspended, HoldersSuspended, NetworkFails,
    ServeKilled, ServeSuspended, WallClockJumps,
};

/// In this order, again and again.
pub(crate) const FAULTS: [(Fault, &str); 9] = [
    (EngineKilled, "engine killed"),
    (NetworkFails, "network cut, slow, loses replies"),
    (HoldersSuspended, "holders suspended"),
    (AnotherPromoted, "replica promoted, leader killed"),
    (ServeKilled, "`serve` killed"),
    (WallClockJumps, "wall clock jumps by an hour"),
    (EngineSuspended, "engine suspended"),
    (DataLost, "server emptied"),
    (ServeSuspended, "`serve` suspended"),
];

/// How often each happened.
pub(crate) type Happened = BTreeMap<Fault, u32>;

impl Fault {
    /// Whether it can happen here.
    pub(crate) fn concerns(self, fleet: &Fleet, stage: &mut dyn Stage) -> bool {
        match self {
            HoldersSuspended => true,
            WallClockJumps => fleet.clock.is_some(),
            ServeKilled | ServeSuspended => !fleet.servers.is_empty(),
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => {
                stage.server().is_some()
            }
        }
    }

    pub(crate) fn happen(self, fleet: &mut Fleet, stage: &mut dyn Stage) {
        let url = stage.url(0);
        match self {
            HoldersSuspended => {
                // Those that are killed next are others.
                let seats = fleet.processes.len();
                let chosen = [seats / 2, seats - 1].map(|ahead| (fleet.killed + ahead) % seats);
                let signal =
                    |fleet: &Fleet, signal| chosen.map(|seat| fleet.processes[seat].signal(signal));
                signal(fleet, libc::SIGSTOP);
                // Their leases end meanwhile, and others get the node ids.
                thread::sleep(TTL * 2);
                signal(fleet, libc::SIGCONT);
            }
            WallClockJumps => {
                for hours in [1, -2, 1] {
                    if let Some(clock) = &fleet.clock {
                        clock.step_ms(hours * HOUR_MS);
                    }
                    fleet.pass(TTL / 2);
                }
            }
            ServeKilled => {
                let server = fleet.killed % fleet.servers.len();
                fleet.servers[server].restart();
            }
            ServeSuspended => {
                let server = fleet.killed % fleet.servers.len();
                fleet.servers[server].suspend();
                fleet.pass(TTL * 2);
                fleet.servers[server].resume();
            }
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => {
                if let Some(server) = stage.server() {
                    self.happen_to_server(fleet, server, &url);
                }
            }
        }
    }

    fn happen_to_server(self, fleet: &mut Fleet, server: &mut dyn ServerStage, url: &str) {
        match self {
            EngineKilled => server.restart(),
            NetworkFails => {
                for network in [Network::LosesReplies, Network::Slow, Network::Cut] {
                    server.network(network);
                    fleet.pass(TTL / 2);
                }
                server.network(Network::Works);
            }
            EngineSuspended => {
                server.suspend(false);
                fleet.pass(TTL);
                server.suspend(true);
            }
            DataLost => {
                server.empty();
                // Nothing is granted, and what was leased before is over.
                fleet.pass(TTL * 3);
                patiently(|| lease::open(url, &namespace())?.override_quarantine());
            }
            AnotherPromoted => server.promote(),
            HoldersSuspended | ServeKilled | WallClockJumps | ServeSuspended => {}
        }
    }
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
