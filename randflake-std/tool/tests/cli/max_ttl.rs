//! The longest TTL of a namespace: where it is said, and what is refused.

use crate::user::{User, objects};

#[test]
fn it_is_fixed_when_the_namespace_is_created() {
    let user = User::without_store();
    let long = ["generate", "--ttl", "15m"];
    let said = user.run(&long).fails(2);
    assert!(
        said.contains("at most 1m is allowed") && said.contains("--max-ttl"),
        "{said}"
    );
    assert!(!user.path("state").exists(), "no secret is left behind");
    user.run_keyed(&[&long[..], &["--max-ttl", "15m"]].concat())
        .in_new_store()
        .ok();
    let status = objects(&user.run(&["lease", "namespaces", "--json"]).ok());
    assert_eq!(status[0]["longest_ttl_ms"], 900_000);

    // Who leases brings it, from wherever.
    for command in [
        &["generate"][..],
        &["lease", "acquire"],
        &["generate", "--max-ttl", "1h"],
    ] {
        let said = user.run_keyed(command).fails(1);
        assert!(
            said.contains("stored with longest TTL 15m, and opened with longest TTL ")
                && said.contains("fixed when a namespace is created"),
            "{command:?}: {said}"
        );
    }
    let variable = [
        ("RANDFLAKE_MAX_TTL", "900"),
        ("RANDFLAKE_KEY", crate::user::KEY),
    ];
    user.run_in(&variable, &long).ok();
    let url = format!("sqlite:{}?max_ttl=15m", user.state("leases.db").display());
    user.run_keyed(&[&long[..], &["--store", &url]].concat())
        .ok();
    // Who looks takes what is stored.
    for command in ["list", "status", "quarantine"] {
        let answer = user.run(&["lease", command]);
        assert_eq!(answer.status, Some(0), "{answer:?}");
    }
}

#[test]
fn it_is_40_years_at_most_wherever_it_is_said() {
    let user = User::new();
    let url = |days: u32| format!("sqlite:{}?max_ttl={days}d", user.argument("leases.db"));
    let (most, more) = (url(14_610), url(14_611));
    for (variables, options) in [
        (&[][..], &["--max-ttl", "14611d"][..]),
        (&[("RANDFLAKE_MAX_TTL", "14611d")], &[]),
        (&[], &["--store", &more]),
    ] {
        let init = [&["lease", "init", "--yes"], options].concat();
        let said = user.run_in(variables, &init).fails(2);
        assert!(said.contains("up to 14610 days"), "{said}");
    }
    user.run(&["lease", "init", "--yes", "--store", &most])
        .in_new_store()
        .ok();
}

#[test]
fn it_is_above_zero_wherever_it_is_said() {
    let user = User::new();
    let url = format!("sqlite:{}?max_ttl=0s", user.argument("leases.db"));
    for (variables, options) in [
        (&[][..], &["--max-ttl", "0"][..]),
        (&[("RANDFLAKE_MAX_TTL", "0s")], &[]),
        (&[], &["--store", &url]),
    ] {
        let init = [&["lease", "init", "--yes"], options].concat();
        let said = user.run_in(variables, &init).fails(2);
        assert!(said.contains("above 0"), "{said}");
    }
}

#[test]
fn two_places_that_differ_are_refused_by_name() {
    let user = User::new();
    let url = format!("sqlite:{}?max_ttl=15m", user.argument("leases.db"));
    let option = ["lease", "acquire", "--max-ttl", "1h"];
    let variable = [("RANDFLAKE_MAX_TTL", "1m")];
    for (variables, arguments, said) in [
        (
            &variable[..],
            option.to_vec(),
            "1h by --max-ttl and 1m by RANDFLAKE_MAX_TTL",
        ),
        (
            &[],
            [&option[..], &["--store", &url]].concat(),
            "1h by --max-ttl and 15m by the max_ttl of the store's URL",
        ),
        (
            &variable,
            vec!["lease", "acquire", "--store", &url],
            "1m by RANDFLAKE_MAX_TTL and 15m by the max_ttl of the store's URL",
        ),
        (
            &[("RANDFLAKE_MAX_TTL", "soon")],
            vec!["lease", "acquire"],
            "RANDFLAKE_MAX_TTL: a duration is allowed",
        ),
        (
            &[],
            vec![
                "lease",
                "acquire",
                "--store",
                "sqlite:leases.db?max_ttl=soon",
            ],
            "has a max_ttl that is no time above 0",
        ),
        (
            &[],
            vec![
                "generate",
                "--store",
                "sqlite:leases.db?max_ttl=1m&max_ttl=1m",
            ],
            "has the option max_ttl twice",
        ),
    ] {
        let refused = user.run_in(variables, &arguments).fails(2);
        assert!(refused.contains(said), "{said}: {refused}");
    }
    assert!(!user.path("leases.db").exists());
    // The same in all places is one.
    let same = ["lease", "acquire", "--max-ttl", "900", "--store", &url];
    let same = user.run_in(&[("RANDFLAKE_MAX_TTL", "15m")], &same);
    assert_eq!(same.status, Some(0), "{same:?}");
}
