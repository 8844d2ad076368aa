//! Faults of a fleet and of the server of its store, beside the process that is killed each second.

use core::time::Duration;
use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use harness::proxy::Network;
use randflake_std::lease::{self, StoreError};

use crate::fleet::Fleet;
use crate::issuer::{TTL, namespace};
use crate::schedule::Fault::{
    self, AnotherPromoted, DataLost, EngineKilled, EngineSuspended, HoldersSuspended, NetworkFails,
    ServeKilled, ServeSuspended, WallClockJumps,
};
use crate::stage::{ServerStage, Stage};

const HOUR_MS: i64 = 3_600_000;
const PATIENCE: Duration = Duration::from_secs(120);

/// How often each happened.
pub(crate) type Happened = BTreeMap<Fault, u32>;

impl Fault {
    /// Lets it happen.
    ///
    /// # Errors
    ///
    /// It could not happen here, and why.
    pub(crate) fn happen(self, fleet: &mut Fleet, stage: &mut dyn Stage) -> Result<(), String> {
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
                    let clock = fleet.clock.as_ref();
                    let clock = clock.ok_or("no process has a wall clock of its own")?;
                    clock.step_ms(hours * HOUR_MS);
                    fleet.pass(TTL / 2);
                }
            }
            ServeKilled => {
                let server = fleet.chosen_server()?;
                fleet.servers[server].restart();
            }
            ServeSuspended => {
                let server = fleet.chosen_server()?;
                fleet.servers[server].suspend();
                fleet.pass(TTL * 2);
                fleet.servers[server].resume();
            }
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => {
                let server = stage.server().ok_or("the store has no server")?;
                self.happen_to_server(fleet, server, &url)?;
            }
        }
        Ok(())
    }

    fn happen_to_server(
        self,
        fleet: &mut Fleet,
        server: &mut dyn ServerStage,
        url: &str,
    ) -> Result<(), String> {
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
            AnotherPromoted => server.promote()?,
            HoldersSuspended | ServeKilled | WallClockJumps | ServeSuspended => {}
        }
        Ok(())
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
