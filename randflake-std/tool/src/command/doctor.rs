//! `doctor`: checks of a store, a key and this machine, each with its finding.

use core::time::Duration;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use randflake_common::date::now;
use randflake_common::leases::Snapshot;
use randflake_common::limits;
use randflake_std::date::{span, utc};
use randflake_std::lease::{
    AcquireRequest, Finding, KeyCheck, LeaseStore, Namespace, NodeIds, Occupancy, StoreError,
    Token, Verdict,
};
use randflake_std::randflake_core::LayoutSpec;
use randflake_std::tagged::TagSecrets;
use randflake_std::{DEFAULT_TTL, KeyNumber, private_file};
use serde::Serialize;

use crate::command::equal_ids::{namespaces_with_equal_ids, quoted, remedy};
use crate::command::uuid;
use crate::failure::{Failure, one_line};
use crate::output::{stdout, visible};
use crate::secret::{SecretArgs, SecretSource, no_secret};
use crate::store::LeaseArgs;
use crate::{store, wait};

/// Check what `generate` needs, and say what is wrong
///
/// Prints a line for each check, with what the lease store says of its own settings, and fails if
/// one finds a problem. A caution names a condition that cannot be checked from here. It makes
/// nothing: no secret, no lease store and no namespace. Where the namespace is there, it leases a
/// node id for a moment to see that this works.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake doctor
  randflake doctor --namespace orders --keys /etc/randflake/orders
  randflake doctor --json | jq 'select(.ok | not)'")]
pub(crate) struct DoctorArgs {
    /// Print a JSON object for each check
    #[arg(long)]
    json: bool,
    /// Directory of the keys of a namespace of tagged UUIDs
    #[arg(long, value_name = "DIRECTORY", env = "RANDFLAKE_KEYS")]
    keys: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

/// Finding of one check, a line of the output.
#[derive(Debug, Serialize)]
struct CheckResult {
    check: &'static str,
    /// Whether there is no problem. If there is a caution, only under its condition.
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caution: Option<String>,
}

impl CheckResult {
    /// The finding of a check that ends with the observed value, or with what is wrong.
    fn new(check: &'static str, outcome: Result<String, Failure>) -> Self {
        let ok = outcome.is_ok();
        let detail = outcome.unwrap_or_else(|failure| failure.to_string());
        // What a store says is somebody else's text.
        let detail = visible(&one_line(&detail));
        Self {
            check,
            ok,
            detail,
            caution: None,
        }
    }

    /// The finding of a store about itself.
    fn of_store(finding: Finding) -> Self {
        let Finding {
            name,
            value,
            verdict,
        } = finding;
        match verdict {
            Verdict::Fine => Self::new(name, Ok(value)),
            Verdict::Caution(sentence) => Self {
                caution: Some(visible(&one_line(&sentence))),
                ..Self::new(name, Ok(value))
            },
            Verdict::Wrong(sentence) => {
                Self::new(name, Err(Failure::failed(format!("{value}: {sentence}"))))
            }
            // A verdict that this program does not know is no reason to be calm.
            _ => Self::new(name, Err(Failure::failed(value))),
        }
    }

    /// The finding of a check that may fail.
    fn of(check: &'static str, found: Result<Finding, Failure>) -> Self {
        found.map_or_else(|failure| Self::new(check, Err(failure)), Self::of_store)
    }

    fn write(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let Self {
            check,
            ok,
            detail,
            caution,
        } = self;
        let verdict = match (ok, caution) {
            (false, _) => "problem",
            (true, Some(_)) => "caution",
            (true, None) => "ok",
        };
        write!(out, "{verdict:<8} {check:<width$} {detail}")?;
        match caution {
            Some(caution) => writeln!(out, ": {caution}"),
            None => writeln!(out),
        }
    }
}

impl DoctorArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = stdout();
        // All at once: the width of the column is known when every check has a name.
        let findings = all(&self.secret, self.keys.as_deref(), &self.store);
        let width = findings.iter().map(|finding| finding.check.len()).max();
        for finding in &findings {
            if self.json {
                out.object(finding)?;
            } else {
                finding.write(&mut out, width.unwrap_or_default())?;
            }
        }
        // Before the failure is said on standard error, so that it stands below the findings.
        out.flush()?;
        match findings.iter().filter(|finding| !finding.ok).count() {
            0 => Ok(()),
            1 => Err(Failure::failed("1 problem")),
            problems => Err(Failure::failed(format!("{problems} problems"))),
        }
    }
}

/// Runs all checks. One that fails stops none but those that need what it could not find out.
fn all(secret: &SecretArgs, keys: Option<&Path>, store: &LeaseArgs) -> Vec<CheckResult> {
    let mut findings = vec![
        CheckResult::new("clock", clock(store.layout().spec())),
        CheckResult::of_store(limits::last_date(store.layout().spec(), now())),
        CheckResult::new("directory", directory()),
        CheckResult::of("secret", secret_source(secret, store)),
    ];
    let url = store.shown_url();
    // Opening a store may make it, so only one that is there is opened.
    let opened = store.is_there().and_then(|is_there| {
        let opened = is_there.map(|is_there| Ok((store.open()?, is_there)));
        opened.transpose()
    });
    match opened {
        Ok(Some((opened, is_there))) => {
            findings.push(CheckResult::new("store", url));
            findings.extend(exposure(store));
            findings.extend(opened_store(opened, is_there, secret, keys, store));
        }
        Ok(None) => {
            findings.push(CheckResult::new(
                "store",
                url.map(|url| format!("{url}, not made yet: the first generate makes it")),
            ));
        }
        // One finding: each check of a store that cannot be opened would only repeat why.
        Err(failure) => findings.push(CheckResult::new("store", Err(failure))),
    }
    findings
}

/// Checks that the machine's clock is within the time of the layout.
fn clock(spec: LayoutSpec) -> Result<String, Failure> {
    let unix = |tick| Duration::from_millis(spec.unix_ms(tick));
    let now = now();
    let (first, last) = (utc(unix(0)), utc(unix(spec.max_tick())));
    // `tick_at` is `None` before the epoch only, so the last tick is compared too.
    match spec.tick_at(now) {
        Some(tick) if tick <= spec.max_tick() => Ok(utc(now)),
        _ => Err(Failure::failed(format!(
            "{} is not between {first} and {last}",
            utc(now)
        ))),
    }
}

/// Checks that nobody else can put a secret or a store into the state directory.
fn directory() -> Result<String, Failure> {
    let path = store::state_directory()?;
    let shown = path.display();
    let Some(mode) = mode(&path) else {
        return Ok(format!("{shown}, not made yet"));
    };
    private_file::check_directory(&path).map_err(Failure::failed)?;
    Ok(format!("{shown}, mode {mode:04o}"))
}

/// Checks where the secret comes from, that it can be read, and that others who have it lease in
/// the same store.
fn secret_source(secret: &SecretArgs, store: &LeaseArgs) -> Result<Finding, Failure> {
    const CHECK: &str = "secret";
    let source = secret.source()?;
    // Read, not only looked for: a file with the wrong mode or content fails here as it would in
    // `generate`.
    let is_there = source.read()?.is_some();
    if !is_there && store.layout().form().is_encrypted() && store.store().is_shared()? {
        return Err(Failure::failed(no_secret(store.store())?));
    }
    let file = |path: &Path| match mode(path) {
        Some(mode) => format!("{}, mode {mode:04o}", path.display()),
        None => path.display().to_string(),
    };
    let value = match &source {
        SecretSource::Given(path) => format!("--key-file {}", file(path)),
        SecretSource::Variable => "RANDFLAKE_KEY".to_owned(),
        SecretSource::Credential(path) => format!("systemd credential {}", file(path)),
        SecretSource::Default(path) if is_there => file(path),
        SecretSource::Default(path) => format!("{}, made by the first generate", path.display()),
    };
    let is_used = source.is_given() && store.layout().form().is_encrypted();
    // What is wrong with the store's URL is a finding of its own.
    let local = is_used.then(|| store.store().local_leases().ok().flatten());
    Ok(match local.flatten() {
        Some(sentence) => Finding::caution(CHECK, value, sentence),
        None => Finding::fine(CHECK, value),
    })
}

/// A caution where others on the network can read the connection.
fn exposure(store: &LeaseArgs) -> Option<CheckResult> {
    const CHECK: &str = "connection";
    match store.store().exposure() {
        Ok(why) => {
            why.map(|why| CheckResult::of_store(Finding::caution(CHECK, "plain".to_owned(), why)))
        }
        Err(failure) => Some(CheckResult::new(CHECK, Err(failure))),
    }
}

/// Runs the checks that need an open store.
fn opened_store(
    mut opened: LeaseStore,
    is_there: bool,
    secret: &SecretArgs,
    keys: Option<&Path>,
    store: &LeaseArgs,
) -> Vec<CheckResult> {
    let namespace = opened.namespace();
    let described = format!(
        "{:?}{}: {} node ids, leases of {} unless asked for, at most {}",
        namespace.name(),
        if is_there {
            ""
        } else {
            ", not made yet by a first generate"
        },
        namespace.node_ids(),
        span(DEFAULT_TTL),
        span(namespace.max_ttl())
    );
    let mut findings = vec![
        CheckResult::new("namespace", Ok(described)),
        CheckResult::of(SKEW, skew(&mut opened)),
        CheckResult::new("latency", latency(&mut opened)),
    ];
    match opened.administration().diagnose() {
        Ok(found) => findings.extend(found.into_iter().map(CheckResult::of_store)),
        Err(error) => findings.push(CheckResult::new("settings", Err(error.into()))),
    }
    findings.push(equal_ids(opened.namespace(), is_there, secret, store));
    // An acquire makes a namespace that is not there, and `doctor` makes nothing.
    if is_there {
        findings.push(CheckResult::new("lease", try_lease(secret, keys, store)));
    }
    findings.push(CheckResult::of("occupancy", occupancy(&mut opened)));
    findings
}

/// Checks that no other namespace of the store issues equal ids.
fn equal_ids(
    namespace: &Namespace,
    is_there: bool,
    secret: &SecretArgs,
    args: &LeaseArgs,
) -> CheckResult {
    const CHECK: &str = "equal ids";
    let caution = |value, sentence| CheckResult::of_store(Finding::caution(CHECK, value, sentence));
    let look = || {
        let stored = args.store().stored()?;
        // The stored one, as the secret may not be known here; a namespace that is not there yet
        // gets that of the options.
        let key_check = stored
            .iter()
            .find(|other| other.name() == namespace.name())
            .and_then(Namespace::key_check);
        let key_check = key_check.map_or_else(
            || args.layout().known_key_check(secret),
            |key_check| Ok(Some(key_check)),
        );
        Ok::<_, Failure>((stored, key_check?))
    };
    let (stored, key_check) = match look() {
        Ok(found) => found,
        Err(failure) => {
            return caution(
                "not known".to_owned(),
                format!("the namespaces cannot be listed: {failure}"),
            );
        }
    };
    let names = namespaces_with_equal_ids(namespace, key_check, &stored);
    if key_check.and_then(KeyCheck::value).is_some()
        && let Some(first) = names.first()
        && !is_there
        && !namespace.shares_secret()
    {
        // The first acquire would be refused, and in these words.
        let refused = StoreError::SecretTaken {
            namespace: (*first).to_owned(),
            database: None,
            asked: namespace.name().to_owned(),
        };
        return CheckResult::new(CHECK, Err(refused.into()));
    }
    match &*names {
        [] => CheckResult::new(CHECK, Ok("in no other namespace of the store".to_owned())),
        names => caution(
            format!("in {}", quoted(names)),
            remedy(key_check, namespace.name()),
        ),
    }
}

/// Measures how long the store takes to answer.
fn latency(store: &mut LeaseStore) -> Result<String, Failure> {
    const QUESTIONS: u32 = 10;
    let mut spans = Vec::new();
    for _ in 0..QUESTIONS {
        let asked = Instant::now();
        store.now()?;
        spans.push(asked.elapsed());
    }
    // The median, because the first question may have connected.
    spans.sort_unstable();
    let (median, longest) = (spans[spans.len() / 2], spans[spans.len() - 1]);
    Ok(format!(
        "its clock is read in {:.3} ms (median), {:.3} ms at most",
        ms(median),
        ms(longest)
    ))
}

const SKEW: &str = "store clock";

/// Compares the store's clock with this machine's.
fn skew(store: &mut LeaseStore) -> Result<Finding, Failure> {
    // Read before the store: what the answer takes makes the store look ahead by that much, far
    // below the 10 s that are allowed.
    let before = now();
    let store = store.now()?;
    let ms = store.abs_diff(before).as_millis();
    let side = if store < before { "behind" } else { "ahead of" };
    let skew = store.as_secs_f64() - before.as_secs_f64();
    Ok(Finding {
        name: SKEW,
        value: format!("{ms} ms {side} this machine's"),
        ..limits::clock_skew(skew)
    })
}

/// Leases a node id as `generate` does, without issuing an id; under the secret, if there is one.
fn try_lease(
    secret: &SecretArgs,
    keys: Option<&Path>,
    args: &LeaseArgs,
) -> Result<String, Failure> {
    let mut store = args.open()?;
    let stored = args.store().find(store.namespace().name())?;
    let stored = stored.and_then(|stored| stored.key_check());
    if let Some(number) = stored.and_then(KeyCheck::number) {
        store.set_key_check(tagged_key_check(number, keys, store.namespace().name())?);
    } else if let Ok(codec) = args.layout().codec(secret) {
        // Without a secret the lease is tried all the same: `secret` is a finding of its own.
        store.set_key_check(KeyCheck::of(codec.permutation()));
    }
    let request = AcquireRequest {
        token: Token::random().map_err(Failure::failed)?,
        holder: "randflake doctor",
        nodes: NodeIds::Any(1),
        ttl: store.namespace().ticks(DEFAULT_TTL),
    };
    // What a new store waits for is no part of what an acquire takes.
    let mut started = Instant::now();
    let acquired = wait::past_youth(|| {
        started = Instant::now();
        store.acquire(&request)
    });
    let mut grants = acquired?.grants;
    let acquired = started.elapsed();
    for grant in &mut grants {
        // Nothing was issued.
        grant.end = grant.start;
    }
    store.release(&grants)?;
    let released = started.elapsed().saturating_sub(acquired);
    Ok(format!(
        "acquired in {:.1} ms, released in {:.1} ms",
        ms(acquired),
        ms(released)
    ))
}

/// The key under which a namespace issues tagged UUIDs.
fn tagged_key_check(
    number: KeyNumber,
    keys: Option<&Path>,
    namespace: &str,
) -> Result<KeyCheck, Failure> {
    let Some(keys) = keys else {
        return Err(Failure::failed(format!(
            "the namespace has tagged UUIDs under key number {number}: give the directory of its keys, --keys DIRECTORY"
        )));
    };
    let secret = uuid::secret(&TagSecrets::open(keys, namespace)?, number)?;
    Ok(KeyCheck::tagged(number, &secret.cipher()))
}

/// Counts the leased node ids.
fn occupancy(store: &mut LeaseStore) -> Result<Finding, Failure> {
    let live = Snapshot::take(store)?.live().count() as u64;
    let total = store.namespace().node_ids();
    Ok(limits::node_ids(Occupancy { live, total }))
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    path.metadata()
        .ok()
        .map(|metadata| metadata.mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}
