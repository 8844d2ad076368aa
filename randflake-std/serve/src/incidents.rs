//! Incidents of a running server, in its leases and its memory: each is logged once on standard
//! error, with what to do.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use randflake_std::date::span;
use randflake_std::lease::{StoreError, StoreErrorKind};
use randflake_std::{Handle, Health, Losses};
use tokio::time::{MissedTickBehavior, interval};

use super::service::Service;
use super::service::health::Witness;
use super::system;
use crate::budget::{MemoryBudget, Refused};
use randflake_common::failure::say;

/// How often leases and refusals are looked at, in memory.
const LOOK: Duration = Duration::from_secs(1);

/// Looks until the server ends.
pub(super) async fn watch(service: Arc<Service>) {
    let mut namespaces: BTreeMap<String, Incidents> = BTreeMap::new();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        for space in service.spaces() {
            space.recent.count(space.issued.get(), Instant::now());
            let Some(handle) = space.handle() else {
                continue; // Why it waits is said by who waits.
            };
            let (health, losses) = (handle.health(), Handle::lease(handle).losses);
            // Handles are closed when the server ends, all of them: there is nothing more to say.
            if matches!(health, Health::Closed) {
                return;
            }
            space.recent.witness(
                Witness::Handle,
                matches!(health, Health::Ready { .. } | Health::Short { .. }),
            );
            let incidents = namespaces.entry(space.name().to_owned()).or_default();
            for line in incidents.look(&health, losses) {
                let line = format!("namespace {:?}: {line}", space.name());
                system::status(&line);
                say(&line);
            }
        }
    }
}

/// How a namespace is, as far as an operator would do something else about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum IncidentState {
    #[default]
    Fine,
    Short,
    Degraded(StoreErrorKind),
    Stopped(Option<StoreErrorKind>),
}

/// What was said of a namespace.
#[derive(Debug, Default)]
struct Incidents {
    state: IncidentState,
    losses: Losses,
}

impl Incidents {
    /// What is new since the last look.
    fn look(&mut self, health: &Health, losses: Losses) -> Vec<String> {
        let mut lines: Vec<_> = lost(self.losses, losses).collect();
        self.losses = losses;
        // By the state, not the line: that has times which change with every look.
        let (state, line) = describe(health);
        if state != self.state {
            lines.push(line);
            self.state = state;
        }
        lines
    }
}

fn describe(health: &Health) -> (IncidentState, String) {
    match health {
        Health::Short { error, .. } => (
            IncidentState::Short,
            format!(
                "the load needs more node ids than the store grants, so clients wait: {error}; see `randflake lease \
                 list`, or raise --node-ids where others leave some"
            ),
        ),
        Health::Degraded { remaining, error } => (
            IncidentState::Degraded(error.kind()),
            format!(
                "the leases were not renewed, and ids are issued for another {}: {}",
                span(*remaining),
                with_remedy(error)
            ),
        ),
        Health::NotReady { error: Some(error) } => (
            IncidentState::Stopped(Some(error.kind())),
            format!("no ids are issued: {}", with_remedy(error)),
        ),
        Health::NotReady { error: None } => (
            IncidentState::Stopped(None),
            "no ids are issued until the lost leases are replaced".to_owned(),
        ),
        _ => (
            IncidentState::Fine,
            "the store answers, and ids are issued".to_owned(),
        ),
    }
}

/// What an operator does about a store that does not answer.
pub(super) const REPAIR: &str = "look after the store: nothing needs to be started again";

/// What an operator does about an error, or need not do.
pub(super) fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Quarantined { .. } => "wait: it ends by itself",
        StoreError::Exhausted { .. } => "see `randflake lease list` for who holds them",
        StoreError::ClockSkew { .. } => "set the clocks (NTP)",
        StoreError::Unavailable(_) => REPAIR,
        _ => "see `randflake doctor`",
    }
}

/// An error with what an operator does about it, once.
pub(super) fn with_remedy(error: &StoreError) -> String {
    match error {
        // These say it themselves.
        StoreError::Quarantined { .. } | StoreError::ClockSkew { .. } => error.to_string(),
        _ => format!("{error}; {}", remedy(error)),
    }
}

/// A line for each reason for which leases were lost.
fn lost(before: Losses, now: Losses) -> impl Iterator<Item = String> {
    let counts = [
        (
            now.expired - before.expired,
            "expired before they were renewed: the store was away, or this process stood still; others are taken",
        ),
        (
            now.released - before.released,
            "were released by somebody else (`randflake lease release`); others are taken",
        ),
        (
            now.contested - before.contested,
            "were renewed by a copy of this server, and both have issued the same ids since it was made: end one of \
             them, and look at the ids with `randflake explain`",
        ),
        (
            now.forgotten - before.forgotten,
            "were forgotten by the store before they expired: it was flushed, restored or replaced. Find out how; ids \
             of other holders may be equal to those issued since (`randflake explain`)",
        ),
    ];
    // One line for all of a second: a server may hold dozens of leases, which are lost together.
    counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("leases lost: {count} {what}"))
}

/// Refusals are a new incident after so long without any: a flood that comes in waves is told once.
const QUIET: Duration = Duration::from_secs(60);

/// Says when clients begin to be refused for memory, until the server ends.
pub(super) async fn watch_memory(memory: Arc<MemoryBudget>) {
    let (mut looks, mut shortage) = (interval(LOOK), Shortage::default());
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = looks.tick().await.into_std();
        if let Some(line) = shortage.look(memory.refused(), now) {
            say(&line);
        }
    }
}

/// A time in which clients are refused again and again.
#[derive(Debug, Default)]
struct Shortage {
    seen: Refused,
    /// When something was refused last.
    last: Option<Instant>,
}

impl Shortage {
    /// Returns what to say if refusals have just begun.
    fn look(&mut self, refused: Refused, now: Instant) -> Option<String> {
        if refused == self.seen {
            return None;
        }
        let begins = self
            .last
            .is_none_or(|last| now.duration_since(last) > QUIET);
        self.last = Some(now);
        let before = core::mem::replace(&mut self.seen, refused);
        begins.then(|| {
            format!(
                "clients want more memory than --memory, --memory-per-token or \
                 --memory-per-address allows: within a second {} requests were refused, and {} \
                 connections without a token closed; see randflake_serve_memory_bytes in the \
                 metrics and \"Memory\" in docs/serve.md",
                refused.requests - before.requests,
                refused.connections - before.connections
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMAINING: Duration = Duration::from_secs(40);

    fn degraded(error: StoreError) -> Health {
        Health::Degraded {
            remaining: REMAINING,
            error: Arc::new(error),
        }
    }

    #[test]
    fn each_change_is_said_once() {
        let mut incidents = Incidents::default();
        let fine = Health::Ready {
            remaining: REMAINING,
        };
        let none = Losses::default();
        assert!(incidents.look(&fine, none).is_empty());
        let away = degraded(StoreError::unavailable("refused"));
        let said = incidents.look(&away, none);
        assert!(
            said[0].contains("for another 40s") && said[0].contains("refused"),
            "{said:?}"
        );
        assert!(incidents.look(&away, none).is_empty());
        let skew = degraded(StoreError::ClockSkew {
            store: Duration::ZERO,
            here: REMAINING,
        });
        assert_eq!(incidents.look(&skew, none).len(), 1);
        let stopped = Health::NotReady {
            error: Some(Arc::new(StoreError::unavailable("refused"))),
        };
        let mut losses = none;
        losses.expired = 2;
        let said = incidents.look(&stopped, losses);
        assert!(said[0].starts_with("leases lost: 2 expired"), "{said:?}");
        assert!(said[1].starts_with("no ids are issued"), "{said:?}");
        assert_eq!(
            incidents.look(&fine, losses),
            ["the store answers, and ids are issued"]
        );
        assert!(incidents.look(&fine, losses).is_empty());
    }

    #[test]
    fn every_reason_says_what_to_do() {
        let mut losses = Losses::default();
        (losses.contested, losses.forgotten, losses.released) = (1, 1, 1);
        let said: Vec<_> = lost(Losses::default(), losses).collect();
        assert_eq!(said.len(), 3);
        assert!(
            said[1].contains("end one of them") && said[2].contains("Find out how"),
            "{said:?}"
        );
    }

    #[test]
    fn shortage_of_memory_is_said_once_until_quiet() {
        let (mut shortage, begin) = (Shortage::default(), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        let refused = |requests, connections| Refused {
            requests,
            connections,
        };
        assert_eq!(shortage.look(refused(0, 0), after(0)), None);
        let said = shortage.look(refused(3, 5), after(1)).unwrap();
        assert!(
            said.contains("3 requests were refused, and 5 connections"),
            "{said}"
        );
        assert_eq!(shortage.look(refused(4, 5), after(2)), None);
        assert_eq!(shortage.look(refused(4, 5), after(50)), None);
        assert_eq!(shortage.look(refused(5, 5), after(61)), None);
        let said = shortage.look(refused(5, 6), after(200)).unwrap();
        assert!(
            said.contains("0 requests were refused, and 1 connections"),
            "{said}"
        );
    }
}
