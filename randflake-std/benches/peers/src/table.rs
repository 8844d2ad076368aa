//! The figures as text.

use crate::measure::{Bound, Figure};

/// The groups, in the order in which they first occur.
pub(crate) fn groups(figures: &[Figure]) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for figure in figures {
        if !groups.contains(&figure.group) {
            groups.push(figure.group.clone());
        }
    }
    groups
}

pub(crate) fn print(figures: &[Figure]) {
    let mut group = "";
    for figure in figures {
        if figure.group != group {
            group = &figure.group;
            println!("\n{group:60} {:>10} {:>10}  bound", "ns median", "min");
        }
        let Figure {
            case,
            who,
            ns_median,
            ns_min,
            ..
        } = figure;
        let bound = match figure.bound {
            Bound::Cost => "",
            Bound::Exhaustion => "exhaustion",
        };
        println!("  {who:20} {case:37} {ns_median:10.2} {ns_min:10.2}  {bound}");
    }
}

/// An object a line.
pub(crate) fn json_lines(figures: &[Figure]) -> serde_json::Result<String> {
    let round = |ns: f64| (ns * 1000.0).round() / 1000.0;
    let mut text = String::new();
    for figure in figures {
        let figure = Figure {
            ns_median: round(figure.ns_median),
            ns_min: round(figure.ns_min),
            ..figure.clone()
        };
        text += &serde_json::to_string(&figure)?;
        text += "\n";
    }
    Ok(text)
}
