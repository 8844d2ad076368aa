//! `segment` of counters that count in steps, or begin anew with each period

use serde_json::Value;

use crate::user::{Answer, User, objects};

#[track_caller]
fn begin(user: &User, options: &[&str]) -> String {
    let init = ["segment", "init", "--no-wait"];
    let answer = user.run(&[&init[..], options].concat());
    assert_eq!(answer.status, Some(0), "{answer:?}");
    answer.stdout
}

fn segment(user: &User, options: &[&str]) -> Answer {
    user.run(&[&["segment"][..], options].concat())
}

#[test]
fn a_counter_in_steps_is_one_of_several() {
    let user = User::new();
    let two = ["--from", "2", "--step", "5"];
    assert_eq!(
        begin(&user, &two),
        "the counter counts from 2 in steps of 5\n"
    );
    assert_eq!(segment(&user, &["-n", "3"]).ok(), "2\n7\n12\n");
    assert_eq!(segment(&user, &two).ok(), "17\n");
    let three = ["--from", "3", "--step", "5"];
    for wrong in [
        &three[..],
        &["--step", "5"],
        &["--daily"],
        &["init", "--no-wait", "--from", "3", "--step", "5"],
        &["resume", "100", "--from", "3", "--step", "5"],
    ] {
        let said = segment(&user, wrong).fails(1);
        assert!(
            said.contains("counts from 2 in steps of 5, and this client says"),
            "{said}"
        );
        assert!(said.contains("of another namespace"), "{said}");
    }
    let said = segment(&user, &["init"]).stdout;
    assert!(
        said.contains("it goes on at 22, and nothing was changed"),
        "{said}"
    );
    assert_eq!(
        segment(&user, &["resume", "100"]).ok(),
        "the counter goes on at 102\n"
    );
    let table = segment(&user, &["status"]).ok();
    assert!(
        table.ends_with("counts     from 2 in steps of 5\nnext       102\n"),
        "{table}"
    );
    let status = &objects(&segment(&user, &["status", "--json"]).ok())[0];
    assert_eq!(status["counts"], "from 2 in steps of 5");
    for (options, part) in [
        (&["--from", "0"][..], "1 to 9223372036854775806 are allowed"),
        (&["--step", "-5"], "1 to 9223372036854775806 are allowed"),
        (
            &["--from", "9", "--step", "9223372036854775806"],
            "no number follows",
        ),
        (&["--step", "5", "--daily"], "cannot be used with"),
    ] {
        let said = segment(&user, options).fails(2);
        assert!(said.contains(part), "{said}");
    }
}

/// Until somebody has a number of it.
#[test]
fn what_was_mistyped_is_said_again() {
    let user = User::new();
    begin(&user, &["--from", "2", "--step", "6"]);
    assert_eq!(
        begin(&user, &["--from", "2", "--step", "5"]),
        "the counter counts from 2 in steps of 5\n"
    );
    assert_eq!(segment(&user, &["-n", "2"]).ok(), "2\n7\n");
}

#[test]
fn order_numbers_begin_anew_each_day() {
    let user = User::new();
    let daily = ["--daily", "--digits", "4", "--utc-offset", "+05:30"];
    let words = "anew each day (+05:30), with 4 digits";
    assert_eq!(
        begin(&user, &daily),
        format!("the counter counts {words}\n")
    );
    let printed = segment(&user, &["-n", "2"]).ok();
    let numbers: Vec<_> = printed.lines().map(str::to_owned).collect();
    let (date, count) = numbers[0].split_once('-').unwrap();
    assert!(
        date.starts_with("20") && date.len() == 8 && count == "0001",
        "{printed}"
    );
    // The integer sorts as the text does.
    let int: u64 = segment(&user, &["--format", "int"])
        .ok()
        .trim()
        .parse()
        .unwrap();
    // A test may run over midnight.
    assert!(int > format!("{date}0002").parse().unwrap());
    let json = &objects(&segment(&user, &["--json"]).ok())[0];
    let number = json["number"].as_str().unwrap().to_owned();
    assert_eq!(json["raw"], number.replace('-', ""));
    // Encrypted: the date with it.
    let json = &objects(&user.run_keyed(&["segment", "--encrypt", "--json"]).ok())[0];
    assert!(json["raw"] != json["int"] && json["number"].as_str() > Some(&number));

    // The width or the zone is changed, or forgotten.
    for wrong in [
        &["--daily"][..],
        &["--daily", "--digits", "4"],
        &["--daily", "--digits", "5", "--utc-offset", "+05:30"],
        &["--monthly", "--digits", "4", "--utc-offset", "+05:30"],
        &["--from", "1"],
    ] {
        let said = segment(&user, wrong).fails(1);
        assert!(
            said.contains(&format!("counts {words}, and this client says")),
            "{said}"
        );
    }
    assert_eq!(segment(&user, &daily).ok().lines().count(), 1);
    let said = segment(&user, &["-n", "65536"]).fails(3);
    for part in [
        "of its 9999 numbers left",
        "of the next day begin in",
        "another namespace",
    ] {
        assert!(said.contains(part), "{said}");
    }
    for (number, part) in [
        ("124", "they are like 20"),
        ("20991231-0001", "of a day that has not begun"),
        ("20260229-0001", "they are like 20"),
        ("20261128-000001", "is no number of this counter"),
        ("2026-11-28", "1 to 9223372036854775806 are allowed"),
        ("-1", "1 to 9223372036854775806 are allowed"),
    ] {
        let said = segment(&user, &["resume", number]).fails(2);
        assert!(said.contains(part), "{number}: {said}");
    }
    let resumed = segment(&user, &["resume", &format!("{date}-0500")]).ok();
    assert!(
        resumed.starts_with("the counter goes on at 20"),
        "{resumed}"
    );
    let table = segment(&user, &["status"]).ok();
    assert!(
        table.contains(&format!("counts     {words}\nnext       20")),
        "{table}"
    );
    let status = &objects(&segment(&user, &["status", "--json"]).ok())[0];
    assert_eq!(
        (&status["counts"], &status["ahead_for_s"]),
        (&words.into(), &Value::Null)
    );
}

#[test]
fn options_of_dates_say_what_they_need() {
    let user = User::new();
    for (options, part) in [
        (&["--digits", "6"][..], "say --daily, --monthly or --yearly"),
        (&["--daily", "--digits", "0"], "1 to 10 are allowed"),
        (&["--daily", "--digits", "11"], "1 to 10 are allowed"),
        (&["--daily", "--monthly"], "cannot be used with"),
        (
            &["--daily", "--utc-offset", "Europe/Berlin"],
            "hours and minutes such as +05:30",
        ),
    ] {
        let said = segment(&user, options).fails(2);
        assert!(said.contains(part), "{said}");
    }
    begin(&user, &["--yearly", "--utc-offset", "-03:00"]);
    let year = segment(&user, &[]).ok();
    assert!(
        year.starts_with("20") && year.ends_with("-000001\n"),
        "{year}"
    );
}
