//! Civil dates of the Gregorian calendar, as days since 1970-01-01.

/// Years, months and days of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

impl Date {
    /// The date that is so many days after 1970-01-01.
    // Years that begin in March, so that a leap day is the last one: Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    pub(super) const fn of_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let is_after_turn = month <= 2;
        Self {
            year: year_of_era + era * 400 + is_after_turn as i64,
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        }
    }

    /// Days since 1970-01-01: `days_from_civil` of the same work.
    pub(super) const fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = year - (month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (20_785, (2026, 11, 28)),
            (2_932_896, (9999, 12, 31)),
        ] {
            let Date { year, month, day } = Date::of_days(days);
            assert_eq!((year, month, day), date);
        }
        let mut before = Date::of_days(-1);
        for days in 0..200_000 {
            let date = Date::of_days(days);
            assert_eq!(date.days(), days);
            let follows = date.day == before.day + 1
                || (date.day == 1 && date.month == before.month + 1)
                || (date.day == 1 && date.month == 1 && date.year == before.year + 1);
            assert!(follows, "{date:?} after {before:?}");
            before = date;
        }
    }
}
