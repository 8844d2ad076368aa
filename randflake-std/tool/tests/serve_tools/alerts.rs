//! The alerts of `docs/operations`, evaluated by Prometheus' own tool over what a server exports
//! before and after something happens to it.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};
use std::{fs, thread};

use randflake_std::Randflake;
use randflake_std::lease::{Namespace, SqliteStore};

use crate::server::Server;
use crate::told;

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of the deployment with a static store: renewed each 1.7 s.
const TTL: &str = "5s";
/// Evaluations, a minute apart.
const MINUTES: usize = 15;

/// Series and values, and when they were read as Unix time.
struct Scrape {
    at: f64,
    values: Vec<(String, f64)>,
}

impl Scrape {
    fn of(server: &Server) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            server.address
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let lines = body.lines().filter(|line| line.starts_with("randflake_"));
        let values = lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, value)| (series.to_owned(), value.parse().unwrap()));
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        Self {
            at: now.as_secs_f64(),
            values: values.collect(),
        }
    }

    /// Scrapes until a series has this value.
    fn until(server: &Server, series: &str, value: f64) -> Self {
        let begin = Instant::now();
        loop {
            let scrape = Self::of(server);
            if scrape
                .value(series)
                .is_some_and(|found| (found - value).abs() < 1e-9)
            {
                return scrape;
            }
            assert!(begin.elapsed() < PATIENCE, "{series}: {:?}", scrape.values);
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn value(&self, series: &str) -> Option<f64> {
        let mut values = self.values.iter();
        values.find_map(|(found, value)| (found == series).then_some(*value))
    }

    /// What the series shows each minute from one of the test's time on, which begins in 1970:
    /// times are as far ahead as they were.
    fn shown(&self, series: &str, from: usize) -> String {
        let more = MINUTES - 1;
        match self.value(series) {
            None => format!("_x{MINUTES} "),
            Some(value) if series.contains("_timestamp_") && value > 0.0 => {
                let seconds = u32::try_from(from * 60).unwrap();
                format!("{}+60x{more} ", value - self.at + f64::from(seconds))
            }
            Some(value) => format!("{value}+0x{more} "),
        }
    }
}

/// The alerts that are sent at the end, by their names; none is pending.
fn check(folder: &Path, before: &Scrape, after: &Scrape, expected: &[&str]) {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/alerts.yml");
    let rules = fs::canonicalize(rules).unwrap();
    let mut test = format!(
        "rule_files: [{}]\nevaluation_interval: 1m\ntests:\n",
        rules.display()
    );
    test += "  - interval: 1m\n    input_series:\n";
    for (series, _) in &after.values {
        let values = before.shown(series, 0) + &after.shown(series, MINUTES);
        writeln!(
            test,
            "      - series: '{series}'\n        values: '{values}'"
        )
        .unwrap();
    }
    test += "    promql_expr_test:\n      - expr: count by (alertname, alertstate) (ALERTS)\n";
    writeln!(test, "        eval_time: {}m", 2 * MINUTES - 1).unwrap();
    test += "        exp_samples:\n";
    for name in expected {
        writeln!(
            test,
            "          - {{ labels: '{{alertname=\"{name}\", alertstate=\"firing\"}}', value: 1 }}"
        )
        .unwrap();
    }
    let path = folder.join("scraped_test.yml");
    fs::write(&path, &test).unwrap();
    let output = Command::new(told("RANDFLAKE_PROMTOOL"))
        .args(["test", "rules"])
        .arg(path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{test}");
}

/// Away until the leases have expired: that is told, and not that the load needs more node ids.
#[test]
fn an_outage_of_the_store_is_told_as_one() {
    let server = Server::start_with(&["--ttl", TTL]);
    let held = "randflake_leases_held{namespace=\"default\"}";
    let before = Scrape::until(&server, held, 1.0);
    let away = rusqlite::Connection::open(server.path("state/randflake/leases.db")).unwrap();
    away.execute_batch("BEGIN IMMEDIATE").unwrap();
    let after = Scrape::until(&server, held, 0.0);
    let wanted = after.value("randflake_node_ids_wanted{namespace=\"default\"}");
    assert_eq!(wanted, Some(1.0), "{:?}", after.values);
    let sent = ["RandflakeLeasesNotRenewed", "RandflakeServeNotReady"];
    check(&server.path("."), &before, &after, &sent);
}

/// Of what a server exports, and of its help.
#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    let server = Server::start();
    let metrics = server.get("/metrics");
    let mut promtool = Command::new(told("RANDFLAKE_PROMTOOL"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(&metrics.body)
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn alerts_are_sent_from_what_a_server_exports() {
    let server = Server::start_with(&["--ttl", TTL]);
    let contested = "randflake_leases_lost_total{namespace=\"default\",reason=\"contested\"}";
    let held = "randflake_leases_held{namespace=\"default\"}";
    let before = Scrape::until(&server, held, 1.0);
    // A short TTL is no reason to be woken.
    check(&server.path("."), &before, &before, &[]);
    // The first event of its kind, by a copy of the server.
    let namespace = Namespace::new("default", Randflake).unwrap();
    let mut copy = SqliteStore::open(server.path("state/randflake/leases.db"), &namespace).unwrap();
    let grants: Vec<_> = copy
        .list()
        .unwrap()
        .iter()
        .map(|record| record.grant)
        .collect();
    copy.renew(&grants, 5).unwrap();
    Scrape::until(&server, contested, 1.0);
    // Between the loss and the next lease another alert is right.
    Scrape::until(&server, "randflake_serve_ready{namespace=\"default\"}", 1.0);
    let after = Scrape::until(&server, held, 1.0);
    check(&server.path("."), &before, &after, &["RandflakeDuplicates"]);
}
