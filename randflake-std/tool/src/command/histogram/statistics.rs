//! Pearson's chi-square test of uniformity.

use core::f64::consts::PI;

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
