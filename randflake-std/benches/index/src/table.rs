//! The measurement as a table.

use crate::arrival::Arrival;
use crate::database::{Database, Size};
use crate::measure::{BATCH, Cost, ROUNDS};
use crate::options::Options;

pub(crate) fn begin(options: &Options, rows: u64) {
    let writers = options.writers;
    println!(
        "# rows = {rows}, in transactions of {BATCH} / {writers}; {ROUNDS} rounds, a checkpoint after each"
    );
    for arrival in &options.arrivals {
        let (name, rates) = (&arrival.name, &arrival.rates);
        let delay_ms = arrival.delay_us / 1_000;
        println!("# {name}: nodes of {rates:?} rows a second, inserted within {delay_ms} ms");
    }
    println!(
        "# times_sequential: median over the rounds of the ratio to a sequence; low and high: quartiles"
    );
    println!("# mariadb: the index is the table");
    println!(
        "database,arrival,ids,unique,insert_s,times_sequential,low,high,log_mb,index_bytes_per_row,leaf_density_percent,table_mb"
    );
}

pub(crate) fn print<D: Database>(database: &mut D, arrival: &Arrival, rows: u64, costs: &[Cost]) {
    for (name, value) in database.settings() {
        println!("# {}: {name} = {value}", database.name());
    }
    for cost in costs {
        let mut ratios: Vec<f64> = cost
            .seconds
            .iter()
            .zip(&costs[0].seconds)
            .map(|(own, sequence)| own / sequence)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&ratios, part));
        let Size {
            index_bytes,
            leaf_density,
            table_bytes,
        } = database.size(cost.recipe, rows);
        println!(
            "{},{},{},{},{:.1},{median:.2},{low:.2},{high:.2},{:.0},{:.1},{},{:.0}",
            database.name(),
            arrival.name,
            cost.recipe.name(),
            if cost.recipe.is_unique() { "yes" } else { "no" },
            cost.seconds.iter().sum::<f64>(),
            cost.log_bytes as f64 / 1e6,
            index_bytes / rows as f64,
            leaf_density.map_or_else(String::new, |density| format!("{density:.1}")),
            table_bytes / 1e6
        );
    }
}

/// Of sorted numbers, between two of them if need be.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}
