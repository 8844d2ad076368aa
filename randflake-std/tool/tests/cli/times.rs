//! Times as people type them: time zones, leap days, leap seconds, and the ends of layouts.

use core::time::Duration;

use randflake_std::date::{YEAR_10000_MS, utc};
use randflake_std::randflake_core::LAYOUTS;

use crate::user::{User, words};

/// West of Greenwich, a quarter of an hour off, a day ahead, and one that nobody knows.
const ZONES: [&str; 4] = [
    "America/St_Johns",
    "Asia/Kathmandu",
    "Pacific/Kiritimati",
    "No/Such_Zone",
];

#[test]
fn a_time_zone_changes_nothing() {
    let user = User::new();
    user.run_keyed(&words("generate --layout discord")).ok();
    for command in [
        "compose --layout discord --time 2028-02-29 --node 1 --sequence 0 --format json",
        "compose --layout discord@2028-02-29 --time 2028-03-01T00:00:00Z --node 1 --sequence 0 --format json",
        "inspect --layout discord --from int 1741998469939204096",
        "sql partitions --layout discord --table t --from 2028-02-28 --to 2028-03-02 --every day",
        "lease list --all --namespace discord",
    ] {
        let in_zone = |zone| user.run_in(&[("TZ", zone)], &words(command));
        let told = in_zone("UTC").ok();
        for zone in ZONES {
            assert_eq!(in_zone(zone).ok(), told, "{command}, {zone}");
        }
    }
}

#[test]
fn february_has_the_days_of_its_year() {
    let user = User::new();
    for (year, days) in [
        (2028, "02_28 02_29 03_01"),
        (2100, "02_28 03_01"),
        (2400, "02_28 02_29 03_01"),
    ] {
        let partitions = format!(
            "sql partitions --layout mastodon --table t --from {year}-02-28 --to {year}-03-02 --every day"
        );
        let told = user.run(&words(&partitions)).ok();
        let names: Vec<_> = told
            .lines()
            .map(|line| line.split(' ').nth(2).unwrap())
            .collect();
        let expected: Vec<_> = days
            .split(' ')
            .map(|day| format!("t_{year}_{day}"))
            .collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_time_that_is_none_is_told_from_one_that_is_out_of_range() {
    let user = User::new();
    let compose = |time| {
        let fields = ["--node", "1", "--sequence", "1"];
        let compose = ["compose", "--layout", "discord", "--time", time];
        user.run(&[&compose[..], &fields].concat())
    };
    for time in [
        "2027-02-29",
        "2100-02-29",
        "2028-02-30",
        "2028-06-31",
        "2028-02-29T24:00:00Z",
        // Unix time has no leap seconds.
        "2016-12-31T23:59:60Z",
        "2028-02-29T12:00:00+01:00",
        "now",
    ] {
        let said = compose(time).fails(2);
        assert_eq!(
            said,
            format!(
                "invalid value '{time}' for '--time <TIME>': seconds since 1970 are allowed, with up to three decimals, or \
                 a day in UTC such as 2024-12-09, or a time of it such as 2024-12-09T01:04:57Z"
            )
        );
        let partitions = ["sql", "partitions", "--layout", "discord", "--table", "t"];
        let range = ["--from", time, "--to", "2030-01-01"];
        let said = user.run(&[&partitions[..], &range].concat()).fails(2);
        assert!(
            said.contains("a date such as 2026-01-01 or 2026-01-01T12:00:00Z is allowed"),
            "{said}"
        );
    }
    for time in [
        "2014-12-31T23:59:59.999Z",
        "2154-05-15T07:35:11.104Z",
        "5818116911.104",
    ] {
        let said = compose(time).fails(2);
        assert!(
            said.ends_with("1420070400 (2015-01-01T00:00:00Z) to 5818116911.103 (2154-05-15T07:35:11Z) are allowed"),
            "{said}"
        );
    }
}

/// A range of partition bounds, of which the last is not inside.
fn range(line: &str) -> (i128, i128) {
    let (_, bounds) = line.split_once("FROM (").unwrap();
    let (from, to) = bounds.split_once(") TO (").unwrap();
    let number = |text: &str| match text {
        "MINVALUE" => i64::MIN.into(),
        "MAXVALUE" => i128::from(i64::MAX) + 1,
        number => number.parse().unwrap(),
    };
    (number(from), number(to.trim_end_matches(");")))
}

/// From the first moment of a layout to its last, without gap or overlap, and no further.
#[test]
fn partitions_are_of_all_times_of_a_layout_and_of_no_others() {
    let user = User::new();
    let date = |unix_ms: u64| {
        let seconds = utc(Duration::from_millis(unix_ms));
        seconds.replace('Z', &format!(".{:03}Z", unix_ms % 1_000))
    };
    for (name, spec) in LAYOUTS {
        let (first, end) = (spec.unix_ms(0), spec.end_unix_ms());
        let partitions = |from, to| {
            let fixed = format!("sql partitions --layout {name} --table t --every month");
            let range = ["--from", &*date(from), "--to", &*date(to)];
            user.run(&[&words(&fixed)[..], &range].concat())
        };
        // Later dates have no text.
        if end < YEAR_10000_MS {
            let mut ranges: Vec<_> = partitions(first, end).ok().lines().map(range).collect();
            ranges.sort_unstable();
            assert!(ranges.iter().all(|(from, to)| from < to), "{name}");
            assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0), "{name}");
            let ids = ranges.last().unwrap().1 - ranges[0].0;
            let timestamp = spec.fields().timestamp;
            assert_eq!(ids, 1 << (timestamp.bits + timestamp.shift), "{name}");
            let said = partitions(first, end + 1).fails(2);
            let allowed = format!("to {} are allowed, the times of the layout", date(end));
            assert!(said.ends_with(&allowed.replace(".000Z", "Z")), "{said}");
        }
        if first > 0 {
            let said = partitions(first - 1, first + 1).fails(2);
            assert!(
                said.ends_with("are allowed, the times of the layout"),
                "{said}"
            );
        }
    }
}
