//! What will run out, as far as a running server sees it: the library's forecasts, fed with what was seen before.

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use randflake_std::lease::forecast::{self, Forecast, Growth};
use randflake_std::lease::{LeaseStore, Occupancy, StoreError, Verdict};
use serde::Serialize;

use super::whole_ms;

/// How often the history of leases is read, and the skew of the clocks noted.
const EVERY: Duration = Duration::from_secs(60);
/// Number of clock skews kept: one hour.
const SAMPLES: usize = 60;
/// Most node ids whose history is read: that of more takes long.
const FEW: usize = 1_000;

/// What is kept of a namespace between two looks at it.
#[derive(Default)]
pub(super) struct Trends {
    /// The store's time, and how far it is ahead in seconds.
    skews: VecDeque<(Duration, f64)>,
    growth: Option<(Instant, Forecast)>,
}

impl Trends {
    /// In the order in which the page shows them.
    pub(super) fn look(
        &mut self,
        store: &mut LeaseStore,
        occupancy: Occupancy,
        records: usize,
        (now, skew_s): (Duration, f64),
    ) -> Result<Vec<ShownForecast>, StoreError> {
        if !matches!(&self.growth, Some((taken, _)) if taken.elapsed() < EVERY) {
            // A failure is not kept, so the next look at the board reads it again.
            let growth = (records <= FEW).then(|| Growth::of(store)).transpose()?;
            let growth = forecast::node_ids(occupancy, growth.flatten());
            self.growth = Some((Instant::now(), growth));
        }
        // The present one is last; all others are a minute apart.
        let before = self.skews.len().checked_sub(2).map(|at| self.skews[at].0);
        if before.is_some_and(|before| now.saturating_sub(before) < EVERY) {
            self.skews.pop_back();
        }
        self.skews.push_back((now, skew_s));
        if self.skews.len() > SAMPLES {
            self.skews.pop_front();
        }
        let growth = self.growth.iter().map(|(_, growth)| growth.clone());
        let others = [
            forecast::last_date(store.namespace().spec(), now),
            forecast::clock_skew(self.skews.make_contiguous()),
        ];
        Ok(others
            .into_iter()
            .chain(growth)
            .map(ShownForecast::of)
            .collect())
    }
}

/// A forecast, and what to do about it.
#[derive(Clone, Serialize)]
pub(super) struct ShownForecast {
    name: &'static str,
    level: ForecastLevel,
    value: String,
    advice: Option<String>,
    /// 1 when nothing is left.
    used: f64,
    over_at_unix_ms: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ForecastLevel {
    Fine,
    Caution,
    Wrong,
}

impl ShownForecast {
    fn of(forecast: Forecast) -> Self {
        let Forecast {
            used,
            over_at,
            finding,
        } = forecast;
        let (level, advice) = match finding.verdict {
            Verdict::Fine => (ForecastLevel::Fine, None),
            Verdict::Caution(sentence) => (ForecastLevel::Caution, Some(sentence)),
            Verdict::Wrong(sentence) => (ForecastLevel::Wrong, Some(sentence)),
            _ => (ForecastLevel::Caution, None),
        };
        Self {
            name: finding.name,
            level,
            value: finding.value,
            advice,
            used,
            over_at_unix_ms: over_at.map(whole_ms),
        }
    }
}
