//! The model's store beside `MemoryStore`, which the contract's tests hold beside all other stores:
//! both answer alike and know the same, in random histories of the model.

use core::time::Duration;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::Layout;
use randflake_std::lease::{
    self, AcquireRequest, Grant as RealGrant, LeaseStore, MemoryStore, Namespace, StoreError, Token,
};
use stateright::Model;

use crate::holder::Tiny;
use crate::protocol::{Action, World};
use crate::rules::Rules;
use crate::store::{Grant, Reply, Request};
use crate::{MAX_SKEW, TTL};

const HISTORIES: u64 = 2_000;
const EVENTS: usize = 60;

struct Real {
    store: MemoryStore,
    clock: Arc<ManualClock>,
}

impl Real {
    fn new() -> Self {
        let tick = Duration::from_millis(Tiny::SPEC.tick_ms());
        let namespace = Namespace::of::<Tiny>("twin").unwrap();
        let namespace = namespace.with_max_ttl(tick * TTL.into());
        assert_eq!(namespace.node_ids(), 1);
        let max_skew = namespace.ticks(lease::MAX_SKEW);
        assert_eq!((namespace.node_ids(), max_skew), (1, MAX_SKEW.into()));
        let clock = Arc::new(ManualClock::at_unix_ms(Tiny::SPEC.epoch_unix_ms()));
        let store = MemoryStore::new(namespace, Arc::clone(&clock));
        Self { store, clock }
    }

    fn execute(&mut self, request: Request, holder: usize, now: u8) -> Reply {
        self.clock.set_unix_ms(Tiny::SPEC.unix_ms(now.into()));
        match request {
            Request::Acquire { token } => self.acquire(token, holder),
            Request::Renew(grant) => {
                let renewed = self.store.renew(&[to_real(grant)], TTL.into()).unwrap();
                Reply::Renewed(renewed.ends[0].map(small))
            }
            Request::Release(grant) => {
                self.store.release(&[to_real(grant)]).unwrap();
                Reply::Released
            }
        }
    }

    fn acquire(&mut self, token: u8, holder: usize) -> Reply {
        let request = AcquireRequest {
            token: to_real_token(token),
            holder: &holder.to_string(),
            count: 1,
            ttl: TTL.into(),
        };
        match self.store.acquire(&request) {
            Ok(acquired) => Reply::Granted(to_model(acquired.grants[0])),
            Err(StoreError::Exhausted { .. } | StoreError::Fenced { .. } | StoreError::Foreign) => {
                Reply::Refused
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn record(&mut self) -> Option<(Grant, u8)> {
        let records = self.store.list().unwrap();
        let record = records.into_iter().next()?;
        Some((to_model(record.grant), record.holder.parse().unwrap()))
    }
}

fn to_real_token(token: u8) -> Token {
    Token::from_bytes([token; 16])
}

fn to_real(grant: Grant) -> RealGrant {
    RealGrant {
        node_id: 0,
        start: grant.start.into(),
        end: grant.end.into(),
        fencing_token: grant.fencing_token.into(),
        token: to_real_token(grant.token),
    }
}

fn to_model(grant: RealGrant) -> Grant {
    Grant {
        start: small(grant.start),
        end: small(grant.end),
        fencing_token: small(grant.fencing_token),
        token: grant.token.to_bytes()[0],
    }
}

fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap()
}

/// `SplitMix64`.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[test]
fn the_model_s_store_is_the_memory_store() {
    let rules = Rules::default();
    let (mut seed, mut answers) = (0, 0);
    for _ in 0..HISTORIES {
        let (mut world, mut real) = (World::default(), Real::new());
        for _ in 0..EVENTS {
            let mut actions = Vec::new();
            rules.actions(&world, &mut actions);
            // It has no replica.
            actions.retain(|action| !matches!(action, Action::Replicate | Action::Promote));
            let Some(count) = core::num::NonZeroU64::new(actions.len() as u64) else {
                break;
            };
            let action = actions[usize::try_from(random(&mut seed) % count).unwrap()];
            let before = world;
            world.apply(action, rules);
            match action {
                Action::Execute { holder, now } => {
                    let request = before.holders[holder].request.unwrap();
                    let reply = real.execute(request, holder, now);
                    assert_eq!(
                        Some(reply),
                        world.holders[holder].reply,
                        "{before:?} {action:?}"
                    );
                    answers += 1;
                }
                Action::ExecuteLate { holder, now } => {
                    let request = before.holders[holder].late.unwrap();
                    real.execute(request, holder, now);
                }
                Action::Flush => {
                    // To look at it would be an operation, which notices the loss.
                    real.store.forget();
                    continue;
                }
                _ => continue,
            }
            let known = world
                .store
                .record
                .map(|record| (record.grant, record.holder));
            assert_eq!(real.record(), known, "{before:?} {action:?}");
        }
    }
    assert!(answers > 10_000, "{answers} answers mean little");
}
