//! Arrival of a fleet's rows: the fields of their ids, in the order in which they are inserted.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use randflake_core::{Permutation as _, Sparx64};

/// How rows arrive.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) name: String,
    /// Rows a second of each node.
    pub(crate) rates: Vec<u32>,
    /// A row is inserted at a random time within this many microseconds after its id was made; 0
    /// inserts in the order of the ids' times.
    pub(crate) delay_us: u64,
    /// Whether the times of a node's rows are random (Poisson), not regular.
    pub(crate) is_random: bool,
}

/// A row: when and by whom its id was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// Since the first row.
    pub(crate) us: u64,
    pub(crate) node: u32,
    /// Rows of this node before.
    pub(crate) nth: u64,
    /// Rows of this node before, in this millisecond.
    pub(crate) nth_of_ms: u32,
    /// Rows of this node before, in this second.
    pub(crate) nth_of_second: u32,
}

/// The endless rows of an [`Arrival`], in the order in which they are inserted. The same each time.
pub(crate) struct Rows {
    nodes: Vec<Node>,
    delay_us: u64,
    is_random: bool,
    /// Made and not inserted yet, by the time of the insert.
    waiting: BinaryHeap<Reverse<(u64, Row)>>,
    random: Random,
}

struct Node {
    us_between: f64,
    next_us: f64,
    last: Row,
}

impl Arrival {
    pub(crate) fn rows(&self) -> Rows {
        let step = 1e6 / f64::from(self.rates.iter().sum::<u32>());
        let nodes = (0..).zip(&self.rates).map(|(node, &rate)| Node {
            us_between: 1e6 / f64::from(rate),
            // Nodes of one rate take turns.
            next_us: f64::from(node) * step,
            last: Row {
                node,
                ..Row::default()
            },
        });
        Rows {
            nodes: nodes.collect(),
            delay_us: self.delay_us,
            is_random: self.is_random,
            waiting: BinaryHeap::new(),
            random: Random::new(),
        }
    }

    /// Rows a second of all nodes.
    pub(crate) fn rate(&self) -> u64 {
        self.rates.iter().map(|&rate| u64::from(rate)).sum()
    }
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            let next = (self.nodes.iter_mut()).min_by(|a, b| a.next_us.total_cmp(&b.next_us))?;
            if let Some(Reverse((at_us, row))) = self.waiting.peek().copied()
                && (at_us as f64) < next.next_us
            {
                self.waiting.pop();
                return Some(row);
            }
            let row = next.take();
            let gap = if self.is_random {
                -self.random.fraction().ln()
            } else {
                1.0
            };
            next.next_us += gap * next.us_between;
            let delay = self.random.fraction() * self.delay_us as f64;
            self.waiting.push(Reverse((row.us + delay as u64, row)));
        }
    }
}

impl Node {
    /// The next row of the node.
    fn take(&mut self) -> Row {
        let (us, last) = (self.next_us as u64, self.last);
        let within = |length_us, nth: u32| {
            let is_same = us / length_us == last.us / length_us;
            if is_same { nth } else { 0 }
        };
        let row = Row {
            us,
            nth_of_ms: within(1_000, last.nth_of_ms),
            nth_of_second: within(1_000_000, last.nth_of_second),
            ..last
        };
        // What the next row finds before it.
        self.last = Row {
            nth: row.nth + 1,
            nth_of_ms: row.nth_of_ms + 1,
            nth_of_second: row.nth_of_second + 1,
            ..row
        };
        row
    }
}

/// Random numbers that are the same in each run: an encrypted counter.
pub(crate) struct Random {
    cipher: Sparx64,
    counter: u64,
}

impl Random {
    pub(crate) fn new() -> Self {
        Self {
            cipher: Sparx64::new(b"rows of a fleet."),
            counter: 0,
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.counter += 1;
        self.cipher.permute(self.counter)
    }

    pub(crate) fn bits(&mut self) -> [u8; 16] {
        let bits = u128::from(self.number()) << 64 | u128::from(self.number());
        bits.to_be_bytes()
    }

    /// In (0, 1).
    fn fraction(&mut self) -> f64 {
        (f64::from((self.number() >> 32) as u32) + 0.5) / 4_294_967_296.0
    }
}
