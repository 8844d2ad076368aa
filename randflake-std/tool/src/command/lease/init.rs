//! The command `randflake lease init`.

use std::path::PathBuf;

use randflake_std::backoff::renewed_within;
use randflake_std::date::span;
use randflake_std::lease::{LeaseStore, QuarantineCause};

use super::confirm::confirm;
use crate::failure::{Failure, say};
use crate::output::print_line;
use crate::secret::SecretSource;
use crate::store::LeaseArgs;
use crate::wait::wait_for_sign;

/// Declare that a namespace is new, so that it grants before its quarantine ends
///
/// A server that has lost its data looks like a new one. So on a server a namespace that is not there waits until every
/// lease that may have been forgotten has expired, at least 320 s, unless this declares that there was none.
///
/// It makes the namespace in quarantine and waits for holders from before: for half the longest TTL and a tenth of that, 33 s
/// with the usual one. A holder that reaches the store renews in that time, notices the loss, and moves the quarantine. If
/// nothing has changed, it ends the quarantine, and whatever waits for the namespace goes on within 10 s. A holder that is
/// cut off from the store is not seen: stop such holders first, or let the quarantine end by itself. A namespace that has
/// leases is refused, and one that was dropped or is in quarantine for another reason.
///
/// Run it once, by hand or in the job that sets up the server; never at each start of a service or container, where it would
/// declare a server new that has lost its data. It asks first; where nobody can answer, as in a job, --yes is needed.
///
/// It needs no secret. With --key-file the namespace has that secret from the beginning; otherwise it takes that of the first
/// process that leases in it.
///
/// A dropped namespace is opened again by --reopen, and by nothing else. It may have another layout, secret and longest TTL
/// then, and grants once every lease from before has expired.
///
/// A copy of a database, as a dump or a snapshot that was restored elsewhere, grants nothing: its original may go on, and both
/// would grant the same node ids. Once the original is gone for good, --moved declares that this store takes its place. It
/// grants once every lease has expired that the original may have granted since, in 80 s with the usual longest TTL.
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
    /// Do not wait for holders from before: only where none can be, as on a server that was just installed
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
        // Only a secret that was named: one that lies about here may be another namespace's, and none is ever changed.
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
            // Without a question or a wait: `end_quarantine` refuses what is not new, and does
            // nothing where there is no quarantine.
            store.administration().create_namespace()?;
        }
        // One conditional write. It is refused if a holder has shown itself, or if the cause is another than `New`.
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
