//! Counts of ids by bucket, and their statistics.

use core::f64::consts::PI;

use randflake_std::Id;
use serde::Serialize;

/// Division of the numbers into buckets, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buckets {
    /// Ranges of equal length of the 64-bit numbers without sign.
    Range(u32),
    /// Remainders of a division.
    Shard(u32),
}

pub(super) struct Histogram {
    by: Buckets,
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
    pub(super) fn new(by: Buckets) -> Self {
        let (Buckets::Range(parts) | Buckets::Shard(parts)) = by;
        Self {
            by,
            counts: vec![0; parts as usize],
        }
    }

    pub(super) fn add(&mut self, ids: impl IntoIterator<Item = Id>) {
        for id in ids {
            let part = match self.by {
                // The upper half of the product: `id * parts / 2^64` without a division.
                Buckets::Range(parts) => (u128::from(id.to_u64()) * u128::from(parts)) >> 64,
                Buckets::Shard(parts) => u128::from(id.to_u64() % u64::from(parts)),
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

    pub(super) fn by(&self) -> Buckets {
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
            Buckets::Range(parts) => {
                // The inverse of `add`: the least id whose product has this upper half.
                let first = ((part as u128) << 64).div_ceil(u128::from(parts));
                format!("{first:016x}")
            }
            Buckets::Shard(_) => part.to_string(),
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
        let (Buckets::Range(parts) | Buckets::Shard(parts)) = self.by;
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
                Buckets::Range(_) => "range",
                Buckets::Shard(_) => "shard",
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

/// How often a chi-square of so many degrees of freedom is as large as this or larger: the upper tail of its
/// distribution, `Q(k/2, x/2)`, the regularized incomplete gamma function.
///
/// For halves of whole numbers it is a finite sum: `Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1)`, from `Q(1, x) = e^-x`
/// or `Q(1/2, x) = erfc(√x)` on (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.4.4 and 26.4.5). All terms are
/// positive, so nothing is lost; they are added by their logarithms, so none is too small to begin with.
pub(super) fn chi_square_p(chi_square: f64, degrees_of_freedom: u32) -> f64 {
    let x = chi_square / 2.0;
    if x <= 0.0 || degrees_of_freedom == 0 {
        return 1.0;
    }
    let (mut a, mut sum, mut term) = if degrees_of_freedom.is_multiple_of(2) {
        (0.0, 0.0, -x)
    } else {
        // Γ(3/2) = √π / 2
        (
            0.5,
            libm::erfc(x.sqrt()),
            0.5 * x.ln() - x - (PI.sqrt() / 2.0).ln(),
        )
    };
    for _ in 0..degrees_of_freedom / 2 {
        sum += term.exp();
        a += 1.0;
        term += x.ln() - f64::ln(a);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_in_one_part() {
        for by in [
            Buckets::Range(3),
            Buckets::Range(16),
            Buckets::Shard(3),
            Buckets::Shard(16),
        ] {
            let mut counts = Histogram::new(by);
            let ids: Vec<_> = [0, 1, 2, 1 << 60, u64::MAX / 3, u64::MAX]
                .map(Id::from_u64)
                .into();
            counts.add(ids);
            assert_eq!(counts.total(), 6);
            let expected = match by {
                Buckets::Range(3) => [5, 0, 1].to_vec(),
                Buckets::Shard(3) => [2, 2, 2].to_vec(),
                _ => continue,
            };
            assert_eq!(counts.all(), expected, "{by:?}");
        }
        // A name is the first number that is counted there.
        for parts in [2, 3, 7, 16, 4_096] {
            let mut counts = Histogram::new(Buckets::Range(parts));
            for part in 0..parts as usize {
                let first = u64::from_str_radix(&counts.name(part), 16).unwrap();
                counts.add([Id::from_u64(first)]);
                assert_eq!(counts.all()[part], 1);
            }
        }
    }

    /// Of the tables of the chi-square distribution: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4.
    #[test]
    fn p_is_that_of_the_tables() {
        for (chi_square, degrees_of_freedom, p) in [
            (3.841, 1, 0.05),
            (6.635, 1, 0.01),
            (5.991, 2, 0.05),
            (13.816, 2, 0.001),
            (18.307, 10, 0.05),
            (24.996, 15, 0.05),
            (30.578, 15, 0.01),
            (37.697, 15, 0.001),
            (7.261, 15, 0.95),
            (43.773, 30, 0.05),
            (124.342, 100, 0.05),
            (77.929, 100, 0.95),
            (149.449, 100, 0.001),
        ] {
            let found = chi_square_p(chi_square, degrees_of_freedom);
            assert!((found / p - 1.0).abs() < 0.002, "{chi_square}: {found}");
        }
    }

    #[test]
    fn it_falls_from_one_to_zero() {
        for degrees_of_freedom in [1, 2, 15, 16, 1_023, 4_095] {
            let mut last = chi_square_p(0.0, degrees_of_freedom);
            assert!((last - 1.0).abs() < 1e-12);
            for step in 1..400 {
                let chi_square = f64::from(degrees_of_freedom * step) / 20.0;
                let p = chi_square_p(chi_square, degrees_of_freedom);
                assert!(
                    p <= last + 1e-12 && p >= 0.0,
                    "{degrees_of_freedom} {chi_square}: {p}"
                );
                last = p;
            }
            assert!(last < 1e-3);
        }
        assert!((0.0..1e-300).contains(&chi_square_p(1e9, 15)));
        // The median is about k (1 - 2 / 9k)^3.
        let median = 4_095.0 * (1.0_f64 - 2.0 / (9.0 * 4_095.0)).powi(3);
        assert!((chi_square_p(median, 4_095) - 0.5).abs() < 1e-3);
    }
}
