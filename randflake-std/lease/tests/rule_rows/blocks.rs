//! Blocks of a device, and what it keeps of one in a sleep.

use core::convert::Infallible;
use core::sync::atomic::AtomicU64;
use core::time::Duration;

use randflake_core::{
    Blocks, Field, HorizonError, HorizonStore, Layout, LayoutFields, LayoutSpec, Lease, Plain,
    RetainedMemory, Sequencer,
};

use crate::inputs::number;

const INPUTS: [&str; 8] = [
    "block_tick_ms",
    "block_grant_start",
    "block_grant_end",
    "block_horizon",
    "block_now",
    "block_s",
    "block_start",
    "block_end",
];
const OPERATIONS: [&str; 3] = ["begin", "extend", "resume"];
const COLUMNS: [&str; 4] = ["code", "start", "end", "horizon"];
const NODE_ID: u32 = 3;

macro_rules! layouts {
    ($($name:ident $tick_ms:literal)*) => {
        $(
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            struct $name;

            impl Layout for $name {
                type Permutation = Plain;
                const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
                    timestamp: Field { bits: 40, shift: 24 },
                    node_id: Field { bits: 12, shift: 12 },
                    sequence: Field { bits: 12, shift: 0 },
                    epoch_unix_ms: 0,
                    tick_ms: $tick_ms,
                });
            }
        )*

        const TICKS_MS: &[i64] = &[$($tick_ms),*];

        fn answers(inputs: [i64; 8]) -> Vec<i64> {
            match inputs[0] {
                $($tick_ms => of::<$name>(inputs),)*
                other => panic!("{other}"),
            }
        }
    };
}

layouts! { Ms1 1 Ms10 10 Ms256 256 Second 1_000 Seconds8 8_000 Seconds64 64_000 }

struct Ram(u32);

impl HorizonStore for Ram {
    type Error = Infallible;

    fn unix_s(&self) -> u32 {
        self.0
    }

    fn raise(&mut self, to: u32) -> Result<(), Infallible> {
        self.0 = self.0.max(to);
        Ok(())
    }
}

#[derive(Default)]
struct Words([u32; 5]);

impl RetainedMemory for Words {
    fn read(&self) -> Option<[u32; 5]> {
        Some(self.0)
    }

    fn write(&mut self, words: [u32; 5]) {
        self.0 = words;
    }
}

pub(crate) fn names() -> impl Iterator<Item = String> {
    let names = OPERATIONS.into_iter().flat_map(|operation| {
        COLUMNS
            .iter()
            .map(move |column| format!("block_{operation}.{column}"))
    });
    INPUTS.iter().map(ToString::to_string).chain(names)
}

/// Around a horizon, so that each comparison is often at its edge.
pub(crate) fn row(random: &mut fastrand::Rng) -> Vec<i64> {
    let tick_ms = TICKS_MS[random.usize(..TICKS_MS.len())];
    let horizon = match random.u8(..10) {
        0 => 0,
        _ => random.i64(990..1_010),
    };
    let near = |random: &mut fastrand::Rng| {
        let by = [0, 0, 60_000 / tick_ms, -60_000 / tick_ms, 200][random.usize(..5)];
        i64::max(horizon * 1_000 / tick_ms + by + random.i64(-2..3), 0)
    };
    let start = near(random);
    let end = start + 1 + near(random) / 2;
    let grant_end = if random.bool() { end } else { near(random) };
    let grant_start = (grant_end - 1 - random.i64(0..3) * 60_000 / tick_ms).max(0);
    let inputs = [
        tick_ms,
        grant_start,
        grant_end.max(grant_start + 1),
        horizon,
        if random.u8(..4) == 0 {
            -1
        } else {
            near(random) * tick_ms + random.i64(0..tick_ms)
        },
        [0, 1, 60][random.usize(..3)],
        start,
        // The end of the last block, of the grant, or another one.
        match random.u8(..3) {
            0 => (horizon * 1_000 / tick_ms).max(start + 1),
            1 => grant_end.max(start + 1),
            _ => end,
        },
    ];
    let mut row = inputs.to_vec();
    row.extend(answers(inputs));
    row
}

fn of<L: Layout>(inputs: [i64; 8]) -> Vec<i64> {
    let [
        _,
        grant_start,
        grant_end,
        horizon,
        now,
        length_s,
        start,
        end,
    ] = inputs;
    let lease = |start, end| Lease::new(L::default(), NODE_ID, number(start), number(end)).unwrap();
    let small = |value: i64| u32::try_from(value).unwrap();
    let blocks = || {
        let blocks = Blocks::<L, _>::new(lease(grant_start, grant_end), Ram(small(horizon)));
        blocks.with_block_s(small(length_s))
    };
    let mut first = blocks();
    let begin = first.begin((now >= 0).then(|| Duration::from_millis(number(now))));
    let mut extended = blocks();
    let extend = extended.extend(lease(start, end));
    let mut words = Words::default();
    Sequencer::<L, AtomicU64>::new(lease(start, end))
        .unwrap()
        .retain(&mut words);
    let resumed = blocks();
    let resume = resumed.resume(&mut words).ok_or(HorizonError::Foreign);
    let again = resumed.resume(&mut words);
    assert!(again.is_none(), "{again:?}");
    [
        values(begin, first.store()),
        values(extend, extended.store()),
        values(resume, resumed.store()),
    ]
    .concat()
}

fn values<L: Layout>(answer: Result<Lease<L>, HorizonError<Infallible>>, store: &Ram) -> Vec<i64> {
    let signed = |value: u64| i64::try_from(value).unwrap();
    let (code, start, end) = match answer {
        Ok(block) => (0, signed(block.start()), signed(block.end())),
        Err(HorizonError::Lost) => (1, 0, 0),
        Err(HorizonError::GrantUsed) => (2, 0, 0),
        Err(HorizonError::Foreign) => (3, 0, 0),
        Err(other) => panic!("{other}"),
    };
    vec![code, start, end, store.0.into()]
}
