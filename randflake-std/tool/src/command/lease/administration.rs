//! `lease init`, `lease upgrade`, `lease quarantine` and `lease drop`: changes of a whole
//! namespace.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use randflake_common::leases::Snapshot;
use randflake_std::KeyNumber;
use randflake_std::backoff::renewed_within;
use randflake_std::date::{span, utc};
use randflake_std::lease::{KeyCheck, LeaseStore, QuarantineCause, Record, Upgrade};

use crate::command::uuid::{self, KeysArgs};
use crate::failure::{Failure, say};
use crate::output::{print_line, visible};
use crate::secret::SecretSource;
use crate::store::{LeaseArgs, StoreArgs};
use crate::wait::wait_for_sign;

/// Asks somebody at a terminal to type a name; another answer fails with what was not done.
pub(super) fn confirm(question: &str, name: &str, not_done: &str) -> Result<(), Failure> {
    let stdin = io::stdin();
    // A script that pipes the name in would have confirmed it without a person: `--yes` says so in
    // plain.
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "standard input is no terminal, so nobody can be asked: add --yes",
        ));
    }
    let mut stderr = io::stderr();
    // If the question cannot be written, nobody types the name, and that is refused below.
    _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::failed(format!("standard input: {error}")))?;
    // The name and not `y`: a user who named the wrong namespace notices while typing.
    if answer.trim() != name {
        return Err(Failure::failed(not_done));
    }
    Ok(())
}

/// Declare that a namespace is new, so that it grants before its quarantine ends
///
/// A server that has lost its data looks like a new one. So on a server a namespace that is not
/// there waits until every lease that may have been forgotten has expired, at least 320 s, unless
/// this declares that there was none.
///
/// It makes the namespace in quarantine and waits for holders from before: for half the longest TTL
/// and a tenth of that, 33 s with the usual one. A holder that reaches the store renews in that
/// time, notices the loss, and moves the quarantine. If nothing has changed, it ends the
/// quarantine, and whatever waits for the namespace goes on within 10 s. A holder that is cut off
/// from the store is not seen: stop such holders first, or let the quarantine end by itself. A
/// namespace that has leases is refused, and one that was dropped or is in quarantine for another
/// reason.
///
/// Run it once, by hand or in the job that sets up the server; never at each start of a service or
/// container, where it would declare a server new that has lost its data. It asks first; where
/// nobody can answer, as in a job, --yes is needed.
///
/// It needs no secret. With --key-file the namespace has that secret from the beginning; otherwise
/// it takes that of the first process that leases in it.
///
/// A dropped namespace is opened again by --reopen, and by nothing else. It may have another
/// layout, secret and longest TTL then, and grants once every lease from before has expired.
///
/// A copy of a database, as a dump or a snapshot that was restored elsewhere, grants nothing: its
/// original may go on, and both would grant the same node ids. Once the original is gone for good,
/// --moved declares that this store takes its place. It grants once every lease has expired that
/// the original may have granted since, in 80 s with the usual longest TTL.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease init --store redis://ids.internal --namespace orders
  randflake lease init --store redis://ids.internal --namespace orders --key-file orders.key --yes
  randflake lease init --store redis://ids.internal --namespace meters --max-ttl 30d --no-wait
  randflake lease init --store redis://ids.internal --namespace orders --reopen
  randflake lease init --store postgres://db.internal/ids --namespace orders --moved")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct LeaseInitArgs {
    /// Do not ask; it waits for holders from before all the same
    #[arg(long)]
    yes: bool,
    /// Do not wait for holders from before: only where none can be, as on a server that was just
    /// installed
    #[arg(long)]
    no_wait: bool,
    /// Open a namespace that was dropped, with the layout given here
    #[arg(long, conflicts_with = "no_wait")]
    reopen: bool,
    /// Declare that the store was moved here, and that no process uses the original any more
    #[arg(long, conflicts_with_all = ["no_wait", "reopen"])]
    moved: bool,
    /// File of the namespace's secret: from now on leases under another one are refused
    #[arg(long, value_name = "FILE", conflicts_with = "moved")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseInitArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.moved {
            return self.declare_moved();
        }
        let mut store = self.store.open()?;
        // Only a secret that was named: one that lies about here may be another namespace's, and
        // none is ever changed.
        if let Some(path) = &self.key_file
            && let Some(secret) = SecretSource::Given(path.clone()).read()?
        {
            store.set_key_check(self.store.layout().key_check(&secret));
        }
        if self.reopen {
            return match store.administration().reopen_namespace()? {
                Some(quarantine) => print_line(quarantine),
                None => grants(),
            };
        }
        let is_new = |store: &mut LeaseStore| {
            let cause = store
                .administration()
                .current_quarantine()?
                .map(|quarantine| quarantine.cause);
            let is_new = cause == Some(QuarantineCause::New);
            // A record of any node id shows that leases were granted, so the question would be
            // beside the point.
            Ok::<_, Failure>(is_new && store.list_from(0, 1)?.is_empty())
        };
        if is_new(&mut store)? {
            self.confirm(&store)?;
            // Created before the wait: a holder shows itself by moving the quarantine of this
            // record.
            store.administration().create_namespace()?;
            // A file of an assigned node id has no other users that could show themselves in it.
            if !self.no_wait && !self.store.store().is_assigned()? {
                wait_for_holders(&mut store)?;
            }
        } else {
            // Without a question or a wait: `Administration::end_quarantine` refuses what is not
            // new, and does nothing where there is no quarantine.
            store.administration().create_namespace()?;
        }
        // One conditional write. It is refused if a holder has shown itself, or if the cause is
        // another than `New`.
        store.administration().end_quarantine()?;
        grants()
    }

    /// A namespace that is not there was not moved, so none is made.
    fn declare_moved(&self) -> Result<(), Failure> {
        let mut store = self.store.open_existing()?;
        // A copy has no quarantine that anybody may rely on, and says so instead.
        if store.administration().current_quarantine().is_ok() {
            return print_line("this store is no copy of another one: nothing was declared");
        }
        if !self.yes {
            let (name, place) = (store.namespace().name(), self.store.shown_url()?);
            let question = format!(
                "Is the store that {place} was copied from gone for good, so that no process leases in it? Then type the name of \
                 the namespace, {name:?}: "
            );
            confirm(
                &question,
                name,
                "not declared moved: nothing is granted here",
            )?;
        }
        match store.administration().declare_moved()? {
            Some(quarantine) => print_line(quarantine),
            None => grants(),
        }
    }

    fn confirm(&self, store: &LeaseStore) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let (name, place) = (store.namespace().name(), self.store.shown_url()?);
        let question = format!(
            "Was no lease of namespace {name:?} ever granted in {place}, or have all of them expired? Then type its name: "
        );
        confirm(&question, name, "not declared new: the quarantine goes on")
    }
}

/// Waits as long as a holder from before takes to renew, and ends early if one has.
fn wait_for_holders(store: &mut LeaseStore) -> Result<(), Failure> {
    let limit = renewed_within(store.namespace().max_ttl());
    say(&format!(
        "waiting for {}: holders of leases from before renew in that time, and show themselves; those that are cut off \
         from the store do not",
        span(limit)
    ));
    wait_for_sign(limit, || {
        // A renewal that finds the namespace new moves the quarantine, and gives it another cause.
        let quarantine = store.administration().current_quarantine()?;
        Ok(quarantine.is_none_or(|quarantine| quarantine.cause != QuarantineCause::New))
    })
}

fn grants() -> Result<(), Failure> {
    print_line("the namespace grants leases")
}

/// How many holders a refusal names.
const NAMED: usize = 10;

/// Let records be written that programs of older versions cannot read
///
/// Once after an update whose notes ask for it, when all processes of the namespace run the new
/// version; before that, old and new ones work side by side. From then on older programs write
/// nothing in the namespace: they issue until their leases end, and stop. There is no way back.
///
/// A namespace in which older programs hold leases is refused unless --force.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease upgrade --store redis://10.0.0.1 --namespace orders")]
pub(crate) struct LeaseUpgradeArgs {
    /// Also while older programs hold leases
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseUpgradeArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_stored()?;
        let upgrade = store.administration().upgrade_namespace(self.force)?;
        let name = store.namespace().name();
        print_line(outcome(name, &upgrade).map_err(Failure::failed)?)
    }
}

/// What an upgrade prints, or why it is refused.
fn outcome(name: &str, upgrade: &Upgrade) -> Result<String, String> {
    match upgrade {
        // A repetition, or a namespace that was made by this version.
        Upgrade::Done { before, version } if before == version => Ok(format!(
            "namespace {name:?} has version {version}, the highest that this randflake knows: nothing to do"
        )),
        Upgrade::Done { before, version } => Ok(format!(
            "namespace {name:?} has version {version} now, before {before}: older programs write nothing in it any more"
        )),
        Upgrade::OlderHolders {
            before,
            version,
            holders,
        } => {
            let named: Vec<_> = holders.iter().take(NAMED).map(described).collect();
            let more = match holders.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(format!(
                "namespace {name:?} stays at version {before}: {} live leases are of programs that do not know version \
                 {version}: {}{more}. Update and restart these, and try again; or add --force, and they stop when their \
                 leases end",
                holders.len(),
                named.join(", ")
            ))
        }
    }
}

fn described(record: &Record) -> String {
    let (node_id, holder) = (record.grant.node_id, visible(&record.holder));
    format!("node id {node_id} of {holder} (version {})", record.version)
}

/// Grant nothing until every lease that there may be has expired
///
/// For a store that was set back in a way that it cannot notice, as when the whole machine or its
/// disk was: it may have forgotten leases that are in use. Leases that it knows are renewed
/// meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseQuarantineArgs {
    /// End a quarantine that was set wrongly, such as by a clock that was ahead
    ///
    /// If it ends too early, ids may repeat: no process may hold a lease that the store has
    /// forgotten.
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseQuarantineArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open()?;
        if self.end {
            // Whatever the quarantine is for, unlike `lease init`: the store cannot know that its
            // clock was wrong.
            store.administration().override_quarantine()?;
            return print_line("the namespace grants leases");
        }
        let wait = span(store.administration().start_quarantine()?);
        let until = store
            .administration()
            .current_quarantine()?
            .map(|quarantine| quarantine.until);
        let until = utc(until.unwrap_or_default());
        print_line(format_args!("nothing is granted for {wait}, until {until}"))
    }
}

/// Remove a namespace: its leases, its layout and its secret's check value
///
/// Existing ids are not affected. Nothing is granted in it from then on, until somebody opens it
/// again with `randflake lease init --reopen`, which may bring another layout and secret. It then
/// waits until the longest TTL and 20 s after the drop have passed, because processes may still
/// hold leases from before. A counter of `randflake segment` of the same name stays.
///
/// A namespace with live leases is refused unless --force: their holders cannot renew them, and
/// stop when they end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease namespaces
  randflake lease drop orders-test --yes")]
pub(crate) struct LeaseDropArgs {
    /// Name of the namespace
    #[arg(value_name = "NAMESPACE")]
    name: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Also while leases are live
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseDropArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_named(&self.name)?;
        // Checked here and not by the store: an operator may have to drop a namespace whose holders
        // cannot be stopped.
        let snapshot = Snapshot::take(&mut store)?;
        let live = snapshot.live().count();
        let (name, place) = (&self.name, self.store.shown_url()?);
        if live > 0 && !self.force {
            let last = snapshot
                .live()
                .map(|record| snapshot.remaining(record))
                .max();
            return Err(Failure::failed(format!(
                "namespace {name:?} has live leases of {live} node ids, the last of which ends in {} unless renewed: \
                 stop their holders, see `randflake lease list`, or add --force, and they stop when their leases end",
                span(last.unwrap_or_default())
            )));
        }
        // After the look at the leases, so that the question says how many holders it will stop.
        if !self.yes {
            confirm(
                &format!(
                    "Drop namespace {name:?} of {place}, with the leases of {live} node ids? Type its name: "
                ),
                name,
                "not dropped",
            )?;
        }
        // A lease that is granted between the question and this ends as the others do: its holder
        // cannot renew.
        store.administration().drop_namespace()?;
        // Asked of the store: the time of the mark is by its clock and not this machine's.
        let until = store
            .administration()
            .current_quarantine()?
            .map(|quarantine| quarantine.until);
        let until = utc(until.unwrap_or_default());
        print_line(format_args!(
            "namespace {name:?} is dropped: nothing is granted in it until somebody opens it again (`randflake lease init \
             --reopen`), and not before {until}"
        ))
    }
}

/// Let a namespace of tagged UUIDs go on to its next key
///
/// First put the new key's file into the directory of every reader, then of every holder. From this
/// command on no lease is granted or renewed under the key before, and every holder goes on to the
/// new one within the namespace's longest TTL. UUIDs of the old key stay readable until its file is
/// removed.
///
/// The number is named, so that a script that runs this twice changes nothing the second time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake keygen --out keys/2.key
  randflake lease next-key --to 2 --keys keys --namespace orders --store redis://10.0.0.1")]
pub(crate) struct LeaseNextKeyArgs {
    /// The key number to go on to: the one after the namespace's own
    #[arg(long, value_name = "N")]
    to: KeyNumber,
    #[command(flatten)]
    keys: KeysArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseNextKeyArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let secrets = self.keys.read(self.store.namespace_name())?;
        let to = self.to;
        let secret = uuid::secret(&secrets, to)?;
        let mut store = self.store.open_stored()?;
        let before = store.namespace().key_check().and_then(KeyCheck::number);
        let name = store.namespace().name().to_owned();
        if let Some(before) = before
            && before > to
        {
            return Err(Failure::failed(format!(
                "namespace {name:?} has gone on to key number {before} already, and never goes back to {to}"
            )));
        }
        store.administration().next_key(to, &secret)?;
        let longest = span(store.namespace().max_ttl());
        print_line(match before {
            Some(before) if before == to => {
                format!("namespace {name:?} has key number {to}: nothing to do")
            }
            _ => format!(
                "namespace {name:?} goes on to key number {to}: holders that have {to}.key follow within {longest}, and others stop \
                 then. Remove the file of the key before when no UUID of it is to be accepted any more"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use randflake_std::lease::{Grant, Token};

    fn older(node_id: u32) -> Record {
        Record {
            grant: Grant {
                node_id,
                start: 1,
                end: 2,
                fencing_token: 1,
                token: Token::from_bytes([1; 16]),
            },
            contested: false,
            holder: "web-1/42/0a0b0c0d".to_owned(),
            version: 1,
        }
    }

    #[test]
    fn a_refusal_names_the_holders_and_what_to_do() {
        let refused = Upgrade::OlderHolders {
            before: 1,
            version: 2,
            holders: (0..12).map(older).collect(),
        };
        let message = outcome("orders", &refused).unwrap_err();
        let names = "12 live leases are of programs that do not know version 2: node id 0 of web-1/42/0a0b0c0d (version 1), ";
        assert!(message.contains(names), "{message}");
        assert!(
            message.contains("node id 9 of web-1/42/0a0b0c0d (version 1) and 2 more. Update"),
            "{message}"
        );
        assert!(
            message.ends_with("or add --force, and they stop when their leases end"),
            "{message}"
        );
    }
}
