//! The figures as the documentation shows them.

use core::fmt::Write;

use super::engine::Kind;
use super::figures::{Figure, Figures};
use super::measure::OCCUPANCIES;

/// Holders of one node id each, and their TTL in seconds.
const HOLDERS: f64 = 131_072.0;
const TTL: f64 = 60.0;

pub(crate) fn table(figures: &Figures) -> String {
    let mut table = Table {
        figures,
        text: format!("{}\n\n|", figures.caption),
    };
    for kind in Kind::all() {
        table.add(&format!(" | {}", kind.title()));
    }
    table.add(&format!(" |\n|---{}|\n", "|---".repeat(Kind::all().len())));
    for (_, name) in OCCUPANCIES {
        table.row(
            &format!("acquire at {name}: p50 / p99, ms"),
            &[&format!("acquire/{name}")],
            |[f]| format!("{:.2} / {:.2}", f.median, f.p99),
        );
    }
    table.row("refused at 100 %: p50 / max, ms", &["refusal"], |[f]| {
        format!("{:.2} / {:.2}", f.median, f.max)
    });
    table.row(
        "the first refusal / once all were renewed, ms",
        &["refusal/first", "refusal/after renewals"],
        |[first, renewed]| format!("{:.1} / {:.1}", first.median, renewed.median),
    );
    table.row("renewal: p50 / p99, ms", &["renewal"], |[f]| {
        format!("{:.2} / {:.2}", f.median, f.p99)
    });
    table.row(
        "256 node ids at once: acquire / renewal, ms",
        &["acquire/256 at once", "renewal/256 at once"],
        |[acquire, renewal]| format!("{:.1} / {:.1}", acquire.median, renewal.median),
    );
    table.row(
        "16 clients: renewals / acquires a second",
        &["renewals of 16 clients", "acquires of 16 clients"],
        |[renewals, acquires]| format!("{:.0} / {:.0}", renewals.median, acquires.median),
    );
    table.row(
        "processes that start together wait for a node id: 1 / 128, ms",
        &["starters/1", "starters/128"],
        |[one, many]| format!("{:.1} / {:.0}", one.median, many.median),
    );
    table.row("list of 131,072, ms", &["list of all"], |[f]| {
        format!("{:.0}", f.median)
    });
    table.row(
        "bytes of a lease / more for a renewal",
        &["size of a lease", "growth by a renewal"],
        |[lease, renewal]| format!("{:.0} / {:.0}", lease.median, renewal.median),
    );
    table.row(
        "**131,072 holders, TTL 60 s:** renewals, of what 16 clients get",
        &["renewals of 16 clients"],
        |[f]| format!("{:.0} %", HOLDERS * 3.0 / TTL / f.median * 100.0),
    );
    table.row(
        "all lost their leases: all have one again after, s",
        &["acquires of 16 clients"],
        |[f]| format!("{:.0}", HOLDERS / f.median),
    );
    table.row(
        "for comparison: a round trip: p50 / p99, ms",
        &["clock"],
        |[f]| format!("{:.2} / {:.2}", f.median, f.p99),
    );
    for (name, case) in [
        ("4 KiB and `fdatasync`, overwritten", "disk/overwrite"),
        ("4 KiB and `fdatasync`, appended", "disk/append"),
    ] {
        table.row(&format!("{name}: p50 / p99, ms"), &[case], |[f]| {
            format!("{:.2} / {:.2}", f.median, f.p99)
        });
    }
    table.text
}

struct Table<'f> {
    figures: &'f Figures,
    text: String,
}

impl Table<'_> {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Shows some cases of each engine in one cell.
    fn row<const N: usize>(
        &mut self,
        name: &str,
        cases: &[&str; N],
        show: impl Fn([&Figure; N]) -> String,
    ) {
        self.add(&format!("| {name}"));
        for kind in Kind::all() {
            let found = cases.map(|case| self.figures.of(kind.name(), case));
            let shown = if found.iter().all(Option::is_some) {
                show(found.map(Option::unwrap))
            } else {
                "not measured".to_owned()
            };
            // Writing to a string cannot fail.
            _ = write!(self.text, " | {shown}");
        }
        self.add(" |\n");
    }
}
