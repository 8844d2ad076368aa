//! A namespace whose leases are known beside its records.

use fastrand::Rng;
use randflake_core::{LayoutFields, LayoutSpec};
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::rules::{Form, HistoryLink, Key, NodeRecord, VERSION};

use super::engine::Map;

/// So many node ids are read as a whole.
const SMALL: usize = 256;
/// Where hints are left, and notes of full ranges.
pub(crate) const PLACES: u32 = 16;
pub(crate) const TTL: u64 = 60;

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
                knows: VERSION,
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
        self.map.state().now = core::time::Duration::from_millis(unix_ms);
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
        let is_free = |node_id: &usize| self.ends[*node_id] <= self.tick;
        (0..self.ends.len()).filter(is_free)
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

    /// What was released is found by whoever comes next.
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
