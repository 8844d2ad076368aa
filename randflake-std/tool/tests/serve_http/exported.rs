//! What the rules, their tests and the dashboard of `docs/operations` ask for is what a server exports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::server::Server;

type Labels = BTreeMap<String, String>;

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A name, and labels of which Prometheus adds none; a namespace may have any name.
fn series(text: &str) -> (String, Labels) {
    let (name, labels) = text.split_once('{').unwrap_or((text, ""));
    let labels = labels.trim_end_matches('}').split(',');
    let pairs = labels.filter_map(|label| label.trim().split_once('='));
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned()));
    let mut labels: Labels = pairs
        .filter(|(key, _)| key != "instance" && key != "job")
        .collect();
    if let Some(namespace) = labels.get_mut("namespace") {
        namespace.clear();
    }
    (name.to_owned(), labels)
}

/// The names of this project's metrics in expressions.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("randflake_"));
    // The datasource's variable, and files.
    metrics
        .filter(|word| word.matches('_').count() > 1)
        .collect()
}

#[test]
fn rules_tests_and_dashboard_name_series_that_are_there_from_the_start() {
    let server = Server::start();
    // The handle's thread reports once it runs.
    let mut asked = (0..1_000).map(|_| server.get("/metrics"));
    let metrics = asked
        .find(|answer| answer.text().contains("_lease_expires_"))
        .unwrap();
    let lines = metrics.text().lines().filter(|line| !line.starts_with('#'));
    let exported: BTreeSet<_> = lines
        .map(|line| series(line.rsplit_once(' ').unwrap().0))
        .collect();
    let known: BTreeSet<&str> = exported.iter().map(|(name, _)| &**name).collect();
    for file in ["alerts.yml", "alerts_test.yml", "dashboard.json"] {
        let text = document(file);
        let unknown: Vec<_> = names(&text).difference(&known).copied().collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?} of {known:?}");
    }
    let tests = document("alerts_test.yml");
    let given = tests.split("series: '").skip(1);
    for text in given.map(|rest| rest.split('\'').next().unwrap()) {
        if text.starts_with("randflake_") {
            assert!(exported.contains(&series(text)), "{text}: {exported:?}");
        }
    }
}

#[test]
fn every_metric_has_its_help() {
    let server = Server::start();
    let metrics = server.get("/metrics");
    let of = |word: &str| -> Vec<String> {
        let lines = metrics.text().lines();
        let heads = lines.filter_map(|line| line.strip_prefix(word));
        let names = heads.map(|head| head.split(' ').next().unwrap().to_owned());
        names.collect()
    };
    let typed = of("# TYPE ");
    assert_eq!(of("# HELP "), typed);
    assert!(typed.len() > 20, "{typed:?}");
}

/// An alert compares with what was there before: what has not happened yet is there with 0.
#[test]
fn whatever_may_fail_is_exported_as_zero() {
    let server = Server::start();
    let metrics = server.get("/metrics");
    let zero = |name: &str, label: &str, value: &str| {
        let label = format!("{label}=\"{value}\"");
        let mut lines = metrics.text().lines();
        let found =
            lines.find(|line| line.starts_with(&format!("{name}{{")) && line.contains(&label));
        assert!(
            found.is_some_and(|line| line.ends_with(" 0")),
            "{name} {label}: {found:?}"
        );
    };
    for reason in ["expired", "released", "contested", "forgotten"] {
        zero("randflake_leases_lost_total", "reason", reason);
    }
    for operation in ["acquire", "renew", "release"] {
        zero("randflake_store_failures_total", "operation", operation);
    }
    for status in ["refused", "failed"] {
        zero("randflake_serve_requests_total", "status", status);
    }
    zero("randflake_serve_refusals_total", "kind", "failed");
    zero("randflake_serve_connections_total", "outcome", "refused");
    zero("randflake_serve_memory_refusals_total", "of", "request");
    zero("randflake_exhaustions_total", "namespace", "default");
}

#[test]
fn requests_are_counted_by_status_and_time() {
    let server = Server::start();
    server.get("/v1/ids?count=3");
    server.get("/v1/ids?count=0");
    let metrics = server.get("/metrics");
    let has = |line: &str| metrics.text().lines().any(|found| found == line);
    assert!(
        has("randflake_serve_requests_total{protocol=\"http\",status=\"ok\"} 1"),
        "{}",
        metrics.text()
    );
    assert!(has(
        "randflake_serve_requests_total{protocol=\"http\",status=\"refused\"} 1"
    ));
    let infinite =
        "randflake_serve_request_duration_seconds_bucket{protocol=\"http\",le=\"+Inf\"} 2";
    assert!(has(infinite), "{}", metrics.text());
    assert!(has(
        "randflake_serve_request_duration_seconds_count{protocol=\"http\"} 2"
    ));
}
