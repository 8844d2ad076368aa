//! Figures of one engine, as measured.

use core::fmt::Write;
use core::time::Duration;

use serde_json::json;

/// One case of one engine; of times, the median is in milliseconds.
pub(crate) struct Figure {
    pub(crate) engine: &'static str,
    pub(crate) case: String,
    unit: &'static str,
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    count: usize,
}

pub(crate) struct Figures {
    pub(crate) caption: String,
    all: Vec<Figure>,
}

impl Figures {
    pub(crate) fn new(caption: String) -> Self {
        eprintln!("{caption}");
        Self {
            caption,
            all: Vec::new(),
        }
    }

    pub(crate) fn times(&mut self, engine: &'static str, case: &str, times: &[Duration]) {
        let ms = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        self.add(engine, case, "ms", ms);
    }

    /// Several measurements of one thing.
    pub(crate) fn add(
        &mut self,
        engine: &'static str,
        case: &str,
        unit: &'static str,
        mut values: Vec<f64>,
    ) {
        values.sort_unstable_by(f64::total_cmp);
        let at = |per_mille: usize| values[values.len() * per_mille / 1_000];
        let (median, p99, max) = (at(500), at(990), values[values.len() - 1]);
        eprintln!("{engine:10} {case:32} {median:11.3} {p99:11.3} {max:11.3} {unit}");
        self.all.push(Figure {
            engine,
            case: case.to_owned(),
            unit,
            median,
            p99,
            max,
            count: values.len(),
        });
    }

    pub(crate) fn of(&self, engine: &str, case: &str) -> Option<&Figure> {
        let mut all = self.all.iter();
        all.find(|figure| figure.engine == engine && figure.case == case)
    }

    pub(crate) fn csv(&self) -> String {
        let mut text = format!(
            "# {}\nengine,case,unit,median,p99,max,count\n",
            self.caption
        );
        for figure in &self.all {
            let Figure {
                engine,
                case,
                unit,
                median,
                p99,
                max,
                count,
            } = figure;
            // Writing to a string cannot fail.
            _ = writeln!(
                text,
                "{engine},{case},{unit},{median:.3},{p99:.3},{max:.3},{count}"
            );
        }
        text
    }

    /// A line for each.
    pub(crate) fn json(&self) -> String {
        let mut text = String::new();
        for figure in &self.all {
            let line = json!({
                "engine": figure.engine, "case": figure.case, "unit": figure.unit,
                "median": figure.median, "p99": figure.p99, "max": figure.max, "count": figure.count,
            });
            _ = writeln!(text, "{line}");
        }
        text
    }
}
