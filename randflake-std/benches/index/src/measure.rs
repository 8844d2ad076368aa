//! The rounds of a measurement.

use std::time::Instant;

use crate::arrival::{Arrival, Row};
use crate::database::{Database, PAYLOAD};
use crate::kind::Ids;
use crate::recipe::{Means, PARTITIONS, Recipe};

pub(crate) const ROUNDS: u64 = 10;
/// Rows that are inserted together, on disk when their transaction ends.
pub(crate) const BATCH: usize = 10_000;

/// What a recipe cost.
pub(crate) struct Cost {
    pub(crate) recipe: Recipe,
    /// Of each round.
    pub(crate) seconds: Vec<f64>,
    pub(crate) log_bytes: u64,
}

pub(crate) fn all<D: Database>(
    database: &mut D,
    arrival: &Arrival,
    rows: u64,
    writers: u32,
) -> Vec<Cost> {
    let mut ids = Ids::new(&arrival.rates);
    let recipes = Recipe::all().into_iter();
    let mut costs: Vec<_> = recipes
        .filter(|recipe| database.knows(*recipe))
        .map(|recipe| Cost {
            recipe,
            seconds: Vec::new(),
            log_bytes: 0,
        })
        .collect();
    for cost in &costs {
        database.create(cost.recipe, &bounds(&ids, arrival, rows, cost.recipe));
    }
    let mut arriving = arrival.rows();
    let of_round = rows / ROUNDS;
    for round in 0..ROUNDS {
        let rows: Vec<Row> = arriving.by_ref().take(of_round as usize).collect();
        for turn in 0..costs.len() {
            let place = (turn + round as usize) % costs.len();
            let cost = &mut costs[place];
            let before = database.log_bytes();
            let mut seconds = 0.0;
            for (batch, part) in (0..).zip(rows.chunks(BATCH)) {
                let first = round * of_round + batch * BATCH as u64;
                let lines = lines(&mut ids, cost.recipe, part, first, writers);
                seconds += database.insert(cost.recipe, &lines);
            }
            let started = Instant::now();
            database.checkpoint();
            seconds += started.elapsed().as_secs_f64();
            cost.log_bytes += database.log_bytes() - before;
            cost.seconds.push(seconds);
            let (database, name) = (database.name(), cost.recipe.name());
            eprintln!(
                "{database}, {}, round {round}: {name} {seconds:.2} s",
                arrival.name
            );
        }
    }
    costs
}

/// The rows as lines, dealt out to the writers in turns; making the ids does not count.
fn lines(ids: &mut Ids, recipe: Recipe, rows: &[Row], first: u64, writers: u32) -> Vec<String> {
    let mut rows = rows.to_vec();
    if recipe.means == Means::Sorted {
        rows.sort_by_key(|row| ids.number(recipe.kind, row, 0));
    }
    let mut lines = vec![String::new(); writers as usize];
    for (number, row) in rows.iter().enumerate() {
        let out = &mut lines[number % writers as usize];
        ids.write(recipe.kind, row, first + number as u64, out);
        out.push_str(PAYLOAD);
    }
    lines
}

/// The stored ids between partitions of equal times.
fn bounds(ids: &Ids, arrival: &Arrival, rows: u64, recipe: Recipe) -> Vec<i64> {
    // Of a millisecond each at least, so that none is empty.
    let span_us = (rows * 1_000_000 / arrival.rate()).max(PARTITIONS * 1_000);
    (1..PARTITIONS)
        .map(|part| ids.first_of(recipe.kind, part * span_us / PARTITIONS))
        .collect()
}
