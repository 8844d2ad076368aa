//! Engine in memory that counts requests, and a namespace whose leases are known beside its
//! records.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use randflake_core::{LayoutFields, LayoutSpec, Randflake};
use randflake_lease::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_lease::unstable::rules::{
    Continuity, Form, HistoryLink, Key, Keys, NodeRecord, Removal, VERSION, Write, WriteOutcome,
};
use randflake_lease::{
    AcquireRequest, EngineError, Finding, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};

/// So many node ids are read as a whole.
const SMALL: usize = 256;
/// Where hints are left, and notes of full ranges.
pub(crate) const PLACES: u32 = 16;
pub(crate) const TTL: u64 = 60;
/// Time of a new engine.
pub(crate) const BEGIN: Duration = Duration::from_secs(1_800_000_000);

/// A namespace some of whose node ids are leased, and what is known of them beside the records.
pub(crate) struct World {
    pub(crate) namespace: Namespace,
    pub(crate) map: Map,
    pub(crate) store: LeaseStore,
    pub(crate) tick: u64,
    /// When each node id's last lease ends; 0 if it has none.
    pub(crate) ends: Vec<u64>,
    random: Rng,
}

impl World {
    /// Of 2^bits node ids, of which a part is leased; the others never were, or not any more.
    pub(crate) fn new(bits: u32, occupancy: f64, seed: u64) -> Self {
        let layout = LayoutSpec::new(LayoutFields::in_order(
            [30, bits, 17],
            1_700_000_000_000,
            1_000,
        ))
        .unwrap();
        let namespace = Namespace::new("orders", layout).unwrap();
        let map = Map::default();
        let mut world = Self {
            store: map.open(&namespace),
            namespace,
            map,
            tick: 0,
            ends: vec![0; 1 << bits],
            random: Rng::with_seed(seed),
        };
        world.pass(1_000);
        // Makes the namespace's record.
        let first = world.acquire(1).unwrap()[0];
        world
            .store
            .release(&[Grant {
                end: first.start,
                ..first
            }])
            .unwrap();
        for node_id in 0..world.ends.len() {
            let end = match world.random.f64() {
                chance if chance < occupancy => world.tick + world.random.u64(1..=TTL),
                _ if world.random.f64() < 0.5 => world.tick - world.random.u64(0..TTL),
                _ => continue,
            };
            world.ends[node_id] = end;
            let node_id = u32::try_from(node_id).unwrap();
            let text = NodeRecord {
                node_id,
                start: world.tick - TTL,
                end,
                fencing_token: 2_000,
                serial: 1,
                token: Token::from_bytes([1; 16]),
                nonce: 1,
                held: true,
                contested: false,
                past: HistoryLink::default(),
                holder: "another".to_owned(),
                capabilities: VERSION,
                form: Form::default(),
            }
            .to_text();
            world.map.state().texts.insert(Key::Node(node_id), text);
        }
        world
    }

    pub(crate) fn pass(&mut self, ticks: u64) {
        self.tick += ticks;
        let unix_ms = self.namespace.spec().unix_ms(self.tick);
        self.map.state().now = Duration::from_millis(unix_ms);
    }

    pub(crate) fn acquire(&mut self, count: usize) -> Result<Vec<Grant>, StoreError> {
        acquire(&mut self.store, NodeIds::Any(u32::try_from(count).unwrap()))
    }

    /// A free node id is leased by its number: by the same process, or by another.
    pub(crate) fn chooses(&mut self) {
        let free: Vec<_> = self.free().collect();
        let Some(place) = self.random.choice(free) else {
            return;
        };
        let mut another = self.map.open(&self.namespace);
        let store = if self.random.bool() {
            &mut self.store
        } else {
            &mut another
        };
        let chosen = [u32::try_from(place).unwrap()];
        let grants = acquire(store, NodeIds::These(&chosen)).unwrap();
        self.ends[place] = grants[0].end;
    }

    /// A hint says what is not so, or not any more.
    pub(crate) fn misleads(&mut self) {
        let node_id = u32::try_from(self.random.usize(..self.ends.len())).unwrap();
        let nonce = self.random.u32(..);
        let mut state = self.map.state();
        let text = state.texts.get(&Key::Node(node_id));
        let record = text.map(|text| NodeRecord::from_text(node_id, text, VERSION).unwrap());
        let earlier = record.map_or_else(String::new, |record| {
            let end = record.end.min(self.tick);
            NodeRecord { end, ..record }.to_text()
        });
        let hint = match self.random.u8(..10) {
            0 => String::new(),
            1 => "damaged:-1:".to_owned(),
            2 => format!("{nonce}:4294967295:"),
            3 => format!("{nonce}:{node_id}:"),
            _ => format!("{nonce}:{node_id}:{earlier}"),
        };
        let place = Key::Hint(self.random.u32(0..PLACES));
        state.texts.insert(place, hint);
    }

    pub(crate) fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.ends.len()).filter(|node_id| self.ends[*node_id] <= self.tick)
    }

    /// All that is free is found; a refusal says when to come again.
    pub(crate) fn acquires(&mut self, wanted: usize) {
        let wanted = wanted.min(self.ends.len());
        let free = self.free().count();
        match self.acquire(wanted) {
            Ok(grants) => {
                assert_eq!(grants.len(), wanted);
                for grant in grants {
                    let end = &mut self.ends[grant.node_id as usize];
                    assert!(*end <= self.tick, "{grant:?} was leased until {end}");
                    *end = grant.end;
                }
            }
            Err(StoreError::Exhausted { retry_in }) => {
                assert!(free < wanted, "{free} free, {wanted} not found");
                let mut later: Vec<_> = self.ends.iter().filter(|end| **end > self.tick).collect();
                later.sort_unstable();
                let due = *later[wanted - free - 1] - self.tick;
                let told = retry_in.as_secs();
                if self.ends.len() <= SMALL {
                    assert_eq!(told, due);
                } else {
                    assert!(0 < told && told <= due, "{told} of {due}");
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// One of the leases, with its place.
    fn lease(&mut self) -> Option<(usize, Grant)> {
        let len = self.ends.len();
        let first = self.random.usize(..len);
        let mut places = (first..len).chain(0..first);
        let place = places.find(|node_id| self.ends[*node_id] > self.tick)?;
        let node_id = u32::try_from(place).unwrap();
        let state = self.map.state();
        let text = &state.texts[&Key::Node(node_id)];
        let record = NodeRecord::from_text(node_id, text, VERSION).unwrap();
        Some((place, record.grant()))
    }

    /// What was released is found by the next client.
    pub(crate) fn releases(&mut self) {
        if let Some((place, grant)) = self.lease() {
            let end = self.tick;
            self.store.release(&[Grant { end, ..grant }]).unwrap();
            self.ends[place] = end;
        }
    }

    pub(crate) fn renews(&mut self) {
        if let Some((place, grant)) = self.lease() {
            let renewed = self.store.renew(&[grant], TTL).unwrap();
            self.ends[place] = renewed.ends[0].unwrap();
        }
    }
}

pub(crate) fn acquire(
    store: &mut LeaseStore,
    nodes: NodeIds<'_>,
) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes,
        ttl: TTL,
    });
    acquired.map(|acquired| acquired.grants)
}

pub(crate) fn acquire_one(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    Ok(acquire(store, NodeIds::Any(1))?[0])
}

/// A namespace of Randflake ids.
pub(crate) fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Map(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) texts: BTreeMap<Key, String>,
    pub(crate) now: Duration,
    pub(crate) fingerprint: String,
    pub(crate) reads: usize,
    pub(crate) texts_read: usize,
    /// How many texts each list has asked for.
    pub(crate) lists: Vec<usize>,
    pub(crate) writes: usize,
    pub(crate) claims_asked: usize,
    /// But for claims.
    pub(crate) fails_to_write: bool,
    /// Whether nothing from a key on can be removed.
    pub(crate) fails_to_remove_from: Option<Key>,
    /// The texts and the time when the next write arrives, which others have changed since it was
    /// sent.
    pub(crate) meanwhile: Option<(BTreeMap<Key, String>, Duration)>,
    /// Setting by which the engine would lose what it answers.
    pub(crate) fault: Option<String>,
    /// Whether a store opened from now on has a clock of its own, as a server has.
    pub(crate) has_own_clock: bool,
    /// Whether an engine with locks would hold one: since a read with state.
    pub(crate) is_locked: bool,
    /// The TTL that was told last.
    pub(crate) ttl: Option<Duration>,
    /// How many earlier leases of a node id a store opened from now on keeps, if not as many as all
    /// engines.
    pub(crate) history: Option<u64>,
    /// The latest end of a lease that the last write has told.
    pub(crate) latest_end_unix_ms: u64,
    /// How many reads succeed before all fail, if any does.
    pub(crate) reads_left: Option<usize>,
}

impl Map {
    /// Without a record, at [`BEGIN`].
    pub(crate) fn new() -> Self {
        let map = Self::default();
        map.state().now = BEGIN;
        map
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Of another namespace, beside the same claims as they are now.
    pub(crate) fn other_namespace(&self) -> Self {
        let state = self.state();
        let claims = state.texts.clone().into_iter();
        Self(Arc::new(Mutex::new(State {
            now: state.now,
            texts: claims.filter(|(key, _)| is_claim(*key)).collect(),
            ..State::default()
        })))
    }

    /// A client of the engine's only namespace.
    pub(crate) fn open(&self, namespace: &Namespace) -> LeaseStore {
        LeaseStore::over(self.clone(), namespace.clone())
    }
}

impl State {
    /// Whether no namespace has a text.
    pub(crate) fn has_claims_alone(&self) -> bool {
        self.texts.keys().all(|key| is_claim(*key))
    }
}

fn is_claim(key: Key) -> bool {
    matches!(key, Key::Claim(_))
}

impl Engine for Map {
    fn profile(&self) -> Profile {
        let state = self.state();
        let profile = Profile::at("the map");
        Profile {
            blind_renewal: true,
            has_own_clock: state.has_own_clock,
            history: state.history.unwrap_or(profile.history),
            ..profile
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let mut state = self.state();
        state.is_locked |= ask.with_state;
        if let Some(left) = state.reads_left {
            let Some(left) = left.checked_sub(1) else {
                return Err(EngineError::unavailable("it was told to fail"));
            };
            state.reads_left = Some(left);
        }
        state.lists.extend(ask.limit);
        // A list is none of those that are counted.
        state.reads += usize::from(ask.limit.is_none());
        let bounds = ask.keys.iter().map(Keys::bounds);
        state.claims_asked += bounds.filter(|(first, _)| is_claim(*first)).count();
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let there = state.texts.range(first..=last);
            let wanted = there.take(ask.limit.unwrap_or(usize::MAX));
            texts.extend(wanted.map(|(key, text)| (*key, text.clone())));
        }
        state.texts_read += if ask.limit.is_none() { texts.len() } else { 0 };
        Ok(Reading {
            now: state.now,
            continuity: Continuity {
                fingerprint: state.fingerprint.clone(),
                is_absence_certain: true,
                fault: state.fault.clone(),
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut state = self.state();
        state.is_locked = false;
        state.writes += 1;
        if let Some((texts, now)) = state.meanwhile.take() {
            (state.texts, state.now) = (texts, now);
        }
        if state.fails_to_write && !write.entries.iter().any(|entry| is_claim(entry.key)) {
            return Err(EngineError::unavailable("it was told to fail"));
        }
        let is_so = write.entries.iter().all(|entry| {
            let there = state.texts.get(&entry.key);
            entry.before.allows(there.map(String::as_str))
        });
        if !is_so || !write.is_in_window(state.now) || write.fingerprint != state.fingerprint {
            return Ok(WriteOutcome::Stale);
        }
        state.texts.extend(write.entries.iter().filter_map(
            |entry: &randflake_lease::unstable::rules::Entry| {
                Some((entry.key, entry.after.clone()?))
            },
        ));
        state.latest_end_unix_ms = write.latest_end_unix_ms;
        Ok(WriteOutcome::Written { now: state.now })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let fault = self.state().fault.clone();
        let wrong = fault.map(|fault| Finding::wrong("setting", "off", fault));
        Ok(vec![
            wrong.unwrap_or_else(|| Finding::fine("setting", "on")),
        ])
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        // Its only one has the name that is asked for.
        let name = only.unwrap_or("orders").to_owned();
        let text = self.state().texts.get(&Key::Namespace).cloned();
        Ok(Some(BTreeMap::from_iter(text.map(|text| (name, text)))))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let (first, last) = removal.bounds();
        let mut state = self.state();
        state.is_locked = false;
        if state.fails_to_remove_from.is_some_and(|from| first >= from) {
            return Err(EngineError::unavailable("it was told to fail"));
        }
        let texts = &mut state.texts;
        let (namespace, guard) = (texts.get(&Key::Namespace), removal.guard());
        if guard.is_none_or(|guard| namespace.is_some_and(|namespace| namespace == guard)) {
            texts.retain(|key, _| !(first..=last).contains(key));
        }
        Ok(())
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.state().ttl = Some(ttl);
    }

    fn abandon(&mut self) {
        self.state().is_locked = false;
    }
}
