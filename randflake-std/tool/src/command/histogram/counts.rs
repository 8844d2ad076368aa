//! How many ids are in which part.

use randflake_std::Id;
use serde::Serialize;

use super::statistics::chi_square_p;

/// How the numbers are divided into parts, and into how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Ranges of equal length of the 64-bit numbers without sign.
    Range(u32),
    /// Remainders of a division.
    Shard(u32),
}

pub(super) struct Histogram {
    by: By,
    counts: Vec<u64>,
}

/// Pearson's test of whether the counts are those of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct ChiSquareTest {
    chi_square: f64,
    degrees_of_freedom: u32,
    p: f64,
    /// Whether there are enough ids for p to mean something: five in each part are the usual rule.
    #[serde(skip)]
    is_sound: bool,
}

/// The counts and the test, for programs.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    by: &'static str,
    ids: u64,
    counts: &'a [u64],
    #[serde(flatten)]
    test: ChiSquareTest,
}

impl Histogram {
    pub(super) fn new(by: By) -> Self {
        let (By::Range(parts) | By::Shard(parts)) = by;
        Self {
            by,
            counts: vec![0; parts as usize],
        }
    }

    pub(super) fn add(&mut self, ids: impl IntoIterator<Item = Id>) {
        for id in ids {
            let part = match self.by {
                // The upper half of the product: `id * parts / 2^64` without a division.
                By::Range(parts) => (u128::from(id.to_u64()) * u128::from(parts)) >> 64,
                By::Shard(parts) => u128::from(id.to_u64() % u64::from(parts)),
            };
            // There are no other parts.
            if let Some(count) = usize::try_from(part)
                .ok()
                .and_then(|part| self.counts.get_mut(part))
            {
                *count += 1;
            }
        }
    }

    pub(super) fn by(&self) -> By {
        self.by
    }

    pub(super) fn all(&self) -> &[u64] {
        &self.counts
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or_default()
    }

    /// The name of a part: the first id of a range, or the remainder.
    pub(super) fn name(&self, part: usize) -> String {
        match self.by {
            By::Range(parts) => {
                // The inverse of `add`: the least id whose product has this upper half.
                let first = ((part as u128) << 64).div_ceil(u128::from(parts));
                format!("{first:016x}")
            }
            By::Shard(_) => part.to_string(),
        }
    }

    pub(super) fn test(&self) -> ChiSquareTest {
        let parts = float(self.counts.len() as u64);
        let expected = float(self.total()) / parts;
        let squares = self
            .counts
            .iter()
            .map(|&count| (float(count) - expected).powi(2));
        let chi_square = squares.sum::<f64>() / expected;
        let (By::Range(parts) | By::Shard(parts)) = self.by;
        ChiSquareTest {
            chi_square,
            degrees_of_freedom: parts - 1,
            p: chi_square_p(chi_square, parts - 1),
            is_sound: expected >= 5.0,
        }
    }

    pub(super) fn summary(&self) -> Summary<'_> {
        Summary {
            by: match self.by {
                By::Range(_) => "range",
                By::Shard(_) => "shard",
            },
            ids: self.total(),
            counts: &self.counts,
            test: self.test(),
        }
    }
}

/// Says in a sentence what the test has found.
pub(super) fn verdict(test: ChiSquareTest) -> String {
    let ChiSquareTest {
        chi_square,
        degrees_of_freedom,
        p,
        is_sound,
    } = test;
    let meaning = match p {
        _ if !is_sound => "too few ids for a verdict: five for each bar are needed",
        // One in ten thousand: with 1 in 20 every twentieth look at good ids would raise an alarm.
        p if p < 0.000_1 => "not even: random numbers are not spread so",
        // Such as counters: consecutive numbers fill all shards alike.
        p if p > 0.999_9 => "more even than random numbers are",
        _ => "as even as random numbers",
    };
    format!(
        "chi-square {chi_square:.1}, {degrees_of_freedom} degrees of freedom, p = {p:.4}: {meaning}"
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_in_one_part() {
        for by in [By::Range(3), By::Range(16), By::Shard(3), By::Shard(16)] {
            let mut counts = Histogram::new(by);
            let ids: Vec<_> = [0, 1, 2, 1 << 60, u64::MAX / 3, u64::MAX]
                .map(Id::from_u64)
                .into();
            counts.add(ids);
            assert_eq!(counts.total(), 6);
            let expected = match by {
                By::Range(3) => [5, 0, 1].to_vec(),
                By::Shard(3) => [2, 2, 2].to_vec(),
                _ => continue,
            };
            assert_eq!(counts.all(), expected, "{by:?}");
        }
        // A name is the first number that is counted there.
        for parts in [2, 3, 7, 16, 4_096] {
            let mut counts = Histogram::new(By::Range(parts));
            for part in 0..parts as usize {
                let first = u64::from_str_radix(&counts.name(part), 16).unwrap();
                counts.add([Id::from_u64(first)]);
                assert_eq!(counts.all()[part], 1);
            }
        }
    }
}
