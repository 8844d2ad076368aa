//! Cases that issue and read ids. The ids are public, the fields behind them are not.

use core::time::Duration;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::randflake_core::{Codec, Parts};
use randflake_std::{Builder, Feistel53, Id, Permutation, Randflake};
use sparx64::Sparx64;

use super::{Allowed, Case, KEY, hidden_key, shown};
use crate::memcheck::{hide, show};

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn()| Case::new(name, Allowed::Nothing, run);
    vec![
        case("an id taken apart", || {
            let codec = Codec::new(Randflake, Sparx64::new(&hidden_key()));
            let plain = Codec::new(Randflake, Sparx64::new(&KEY));
            let id = Id::from_u64(4_594_531_474_933_654_033);
            let Parts {
                mut tick,
                mut node_id,
                mut sequence,
            } = codec.inspect(id);
            let mut unix_ms = codec.unix_ms(id);
            let parts = Parts {
                tick: *shown(&mut tick),
                node_id: *shown(&mut node_id),
                sequence: *shown(&mut sequence),
            };
            assert_eq!(parts, plain.inspect(id));
            assert_eq!(shown(&mut unix_ms), &plain.unix_ms(id));
        }),
        case("ids of 53 bits, made and taken apart", || {
            let hidden = Feistel53::new(Sparx64::new(&hidden_key()));
            let plain = Feistel53::new(Sparx64::new(&KEY));
            let raws = [1, 1 << 27, (1 << 53) - 1];
            let mut ids = raws.map(|raw| hidden.permute(raw));
            assert_eq!(shown(&mut ids), &raws.map(|raw| plain.permute(raw)));
            let mut back = ids.map(|id| hidden.invert(id));
            assert_eq!(shown(&mut back), &raws);
            let mut many: [u64; 300] = core::array::from_fn(|raw| raw as u64);
            hidden.permute_all(&mut many);
            for (raw, id) in (0..).zip(shown(&mut many)) {
                assert_eq!(*id, plain.permute(raw));
            }
            hidden.invert_all(&mut many);
            assert!((0..).zip(shown(&mut many)).all(|(raw, back)| raw == *back));
        }),
        case("a handle that issues 1,000 ids", || {
            let namespace = Namespace::new("secrecy", Randflake).expect("the name is valid");
            let store = MemoryStore::with_system_clock(namespace);
            let cipher = Published(Sparx64::new(&hidden_key()));
            let ids = Builder::new(Randflake, cipher, store)
                .build()
                .expect("the store is empty");
            let limit = Duration::from_secs(10);
            let mut buffer = vec![Id::from_u64(0); 500];
            let filled = ids.fill_wait(&mut buffer, limit);
            buffer.truncate(filled.expect("there are ids"));
            while buffer.len() < 1_000 {
                buffer.push(ids.generate_wait(limit).expect("there are ids"));
            }
            let expected = Codec::new(Randflake, Sparx64::new(&KEY));
            let node_id = expected.inspect(buffer[0]).node_id;
            assert!(
                buffer
                    .iter()
                    .all(|id| expected.inspect(*id).node_id == node_id)
            );
            ids.close().expect("the store is there");
        }),
    ]
}

/// A cipher whose blocks are public, as ids are. Numbers that go in are not.
struct Published(Sparx64);

impl Permutation for Published {
    fn permute(&self, mut raw: u64) -> u64 {
        hide(&mut raw);
        let mut id = self.0.encrypt_u64(raw);
        *shown(&mut id)
    }

    fn permute_all(&self, ids: &mut [u64]) {
        hide(&mut *ids);
        self.0.encrypt_blocks(ids);
        shown(ids);
    }

    fn invert(&self, public: u64) -> u64 {
        let mut raw = self.0.decrypt_u64(public);
        show(&mut raw);
        raw
    }
}
