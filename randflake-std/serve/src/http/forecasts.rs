//! What will run out, as the page shows it.

use randflake_std::lease::{Finding, Verdict};
use serde::Serialize;

/// A finding, and what to do about it.
#[derive(Clone, Serialize)]
pub(super) struct ShownForecast {
    name: &'static str,
    level: ForecastLevel,
    value: String,
    advice: Option<String>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ForecastLevel {
    Fine,
    Caution,
    Wrong,
}

impl From<Finding> for ShownForecast {
    fn from(finding: Finding) -> Self {
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
        }
    }
}
