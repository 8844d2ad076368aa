//! The command `randflake generate`.

use core::time::Duration;
use std::io::Write;

use randflake_common::date;
use randflake_common::form::TextFormat;
use randflake_common::number::{check, within, wrong};
use randflake_std::date::span;
use randflake_std::lease::{Namespace, StoreError};
use randflake_std::randflake_core::{Cipher, LayoutSpec};
use randflake_std::{Builder, DEFAULT_TTL, GenerateError, Handle, Id, NodeIdCount};

use crate::command::convert::IssueArgs;
use crate::command::input::{BLOCK, Progress};
use crate::command::inspect::{FieldsWriter, Shape};
use crate::command::interrupt::Interrupt;
use crate::failure::{Failure, say};
use crate::output::stdout;
use crate::secret::SecretArgs;
use crate::store::LeaseArgs;
use crate::wait::WaitArgs;

/// Longest wait for an id before it is a failure: a used up second passes sooner, and a lost lease
/// is replaced sooner.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// How long a lease lasts, as asked for or by default; refused if that is longer than the namespace
/// allows.
///
/// The builder refuses it as well, but only after a secret was made, and it does not know the
/// option that allows it.
pub(crate) fn ttl(asked: Option<Duration>, namespace: &Namespace) -> Result<Duration, Failure> {
    // A handle renews after a third of the TTL, which must be a tick at least.
    let shortest = Duration::from_millis(namespace.spec().tick_ms().saturating_mul(3));
    let ttl = asked.unwrap_or(DEFAULT_TTL.max(shortest));
    let most = namespace.max_ttl();
    if ttl > most {
        let (ttl, most) = (span(ttl), span(most));
        return Err(Failure::usage(format!(
            "a TTL of {ttl} is too long: at most {most} is allowed, the longest of the namespace (see --max-ttl)"
        )));
    }
    Ok(ttl)
}

/// Says of leases that were not released that they end by themselves: what was issued is good all
/// the same.
pub(crate) fn say_unless_released(closed: Result<(), StoreError>) {
    if let Err(error) = closed {
        say(&format!(
            "warning: the leases were not released and end by themselves: {error}"
        ));
    }
}

/// Most node ids that a run leases unless asked for more.
///
/// They issue 8 million ids a second, more than any pipe takes, and are one in two thousand of the
/// namespace.
const MOST_NODE_IDS_UNLESS_ASKED: u64 = 64;

/// Make new ids
///
/// The ids are unique under one secret and namespace: over restarts, over all processes at once,
/// and when one is killed. Node ids are leased from the store for the run and released at its end,
/// and by Ctrl-C or SIGTERM; those of a killed run are free again within a minute.
///
/// The first run makes the secret if none is given; plain layouts need none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake generate
  randflake generate -n 1000000 > ids.txt
  randflake generate -n 3 --json
  randflake generate --layout snowflake --format int
  randflake generate --layout snowflake --node-id 7
  randflake generate --store redis://ids.internal --wait 2m
  randflake generate -n 1000000000 --node-ids 1..=8 | slow-reader
  RANDFLAKE_STORE=sqlite:/var/lib/ids/leases.db randflake generate --key-file secret.key")]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    issue: IssueArgs,
    /// How many node ids to lease: each issues 131072 ids a second in the Randflake layout
    /// [default: as many as issue all in a second, at most 64]
    ///
    /// A range, such as 1..=8, follows the load: for a reader that takes many ids now and then.
    #[arg(
        long,
        value_name = "K",
        allow_negative_numbers = true,
        conflicts_with = "node_id"
    )]
    node_ids: Option<String>,
    /// The node id to lease, instead of any that is free
    ///
    /// While another process has it, chosen or free, it is refused.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node_id: Option<String>,
    /// How long a lease lasts unless it is renewed [default: 1m]
    ///
    /// Ids go on for as long without the store, and the node ids of a killed run stay taken for as
    /// long.
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// What the leases call this process [default: host and process id]
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl GenerateArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Nothing to do needs no lease, no secret and no store.
        if self.issue.count == 0 {
            return Ok(());
        }
        let layout = self.store.layout();
        let node_ids = self.node_ids(layout.spec())?;
        // Node ids are checked before a secret or a store is made: a mistyped one leaves nothing
        // behind.
        let node_id = layout.node_id(self.node_id.as_deref())?;
        // As a layout that cannot issue, and a namespace or a TTL that is refused.
        layout.has_time_left()?;
        let namespace = self.store.namespace()?;
        let ttl = ttl(self.ttl, &namespace)?;
        let cipher = layout.cipher_for_issuing(&self.secret, self.store.store())?;
        // The default secret was made on this machine, and plain ids have none.
        let is_given = cipher.is_some() && self.secret.source()?.is_given();
        let note = is_given
            .then(|| self.store.store().note_of_local_leases(&namespace))
            .transpose()?
            .flatten();
        // Before the first lease: a signal between the grant and the watch would leave it to
        // expire.
        let interrupt = Interrupt::watch()?;
        let open = self.store.opener(namespace)?;
        // The builder could wait by itself, but not so that a signal ends it.
        let handle = self.wait.until(
            |time| interrupt.pause(time),
            || {
                let mut builder = Builder::new(layout.spec(), cipher.clone(), open()?)
                    .node_ids(node_ids)
                    .ttl(ttl);
                if let Some(node_id) = node_id {
                    builder = builder.choose([node_id]);
                }
                if let Some(holder) = &self.holder {
                    builder = builder.holder(holder);
                }
                builder.build()
            },
        )?;
        if let Some(note) = &note {
            say(note);
        }
        // From here on leases are held. The watcher closes its own clone, as the loop below may be
        // waiting in a write.
        let closing = handle.clone();
        interrupt.on_signal(move || say_unless_released(closing.close()));
        let printed = self.print(&handle, &interrupt);
        say_unless_released(handle.close());
        // After a signal the handle is closed, so `printed` may have failed for that reason alone.
        interrupt.check().and(printed)
    }

    fn node_ids(&self, spec: LayoutSpec) -> Result<NodeIdCount, Failure> {
        const ARGUMENT: &str = "--node-ids <K>";
        let all = u64::from(spec.max_node_id()) + 1;
        let Some(asked) = &self.node_ids else {
            // An assigned node id is the only one there is.
            if self.store.store().is_assigned()? {
                return Ok(1.into());
            }
            return Ok(enough_for(self.issue.count, spec).into());
        };
        let Some((least, most)) = asked.split_once("..=") else {
            let number = within::<u32>(1..=all)(asked);
            let number = number.map_err(|_| {
                let allowed =
                    format!("a number from 1 to {all} is allowed, or a range such as 1..=8");
                wrong(ARGUMENT, asked, &allowed)
            });
            return Ok(number?.into());
        };
        let least: u32 = check(ARGUMENT, least, 1..=all)?;
        // An empty range, such as 8..=1, is refused here, with the numbers that are allowed.
        let most = check(ARGUMENT, most, least.into()..=all)?;
        Ok((least..=most).into())
    }

    fn print(
        &self,
        handle: &Handle<LayoutSpec, Option<Cipher>>,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut out = stdout();
        let mut progress = Progress::new(self.issue.count);
        let mut fields = FieldsWriter::new(handle.codec(), Shape::Json);
        let format = self.issue.format.or(TextFormat::Text);
        // Blocks are short enough that a signal is noticed at once, and long enough that the cipher
        // works on many at once.
        let mut block = [Id::from_u64(0); BLOCK];
        let mut done = 0;
        while done < self.issue.count {
            interrupt.check()?;
            let left = usize::try_from(self.issue.count - done).unwrap_or(usize::MAX);
            let made = self.next(handle, &mut block[..left.min(BLOCK)], &mut out)?;
            format.write(&mut out, &mut fields, &block[..made])?;
            done += made as u64;
            progress.show(done);
        }
        Ok(out.flush()?)
    }

    /// Fills `ids` from the front, and returns how many were made. Before it waits, the reader gets
    /// all that was made so far.
    fn next(
        &self,
        handle: &Handle<LayoutSpec, Option<Cipher>>,
        ids: &mut [Id],
        out: &mut impl Write,
    ) -> Result<usize, Failure> {
        // Without waiting first: flushing after each block would make a small write of each.
        if let Ok(made) = handle.fill(ids) {
            return Ok(made);
        }
        out.flush()?;
        // A lease that was lost meanwhile is replaced as late as the first one was granted.
        let limit = self.wait.limit().max(WAIT_LIMIT);
        let waited = handle.fill_wait(ids, limit);
        // After the layout's last tick nothing else is worth saying.
        waited.map_err(|error| match self.store.layout().has_time_left() {
            Err(over) => over,
            Ok(()) => refusal(handle, error),
        })
    }
}

/// The number of node ids that issue so many ids in a second, or in a tick that is longer.
fn enough_for(count: u64, spec: LayoutSpec) -> u32 {
    // A tick of more than a second counts as one second: it issues no more ids than it has
    // sequences.
    let ids_per_second = (u64::from(spec.max_sequence()) + 1) * (1_000 / spec.tick_ms()).max(1);
    let all = u64::from(spec.max_node_id()) + 1;
    let node_ids = count
        .div_ceil(ids_per_second)
        .min(MOST_NODE_IDS_UNLESS_ASKED)
        .min(all);
    u32::try_from(node_ids).unwrap_or(1)
}

/// The failure of a run that gets no more ids: the reason, and what the store said last.
fn refusal(handle: &Handle<LayoutSpec, Option<Cipher>>, error: GenerateError) -> Failure {
    // "The lease has expired" does not say why it was not renewed; what the store said last does.
    let store = handle.lease().last_error.map(|error| format!("; {error}"));
    Failure::failed(format!("{}{}", problem(error), store.unwrap_or_default()))
}

fn problem(error: GenerateError) -> String {
    let wait = error
        .retry_in_ms()
        .map(Duration::from_millis)
        .map(span)
        .unwrap_or_default();
    match error {
        GenerateError::ClockBehind { .. } => format!(
            "the next time that ids can have begins in {wait}: this machine's clock was set back or runs behind the \
             lease store's; correct the clock, or try again in {wait}"
        ),
        GenerateError::SequenceExhausted { .. } => format!(
            "all ids of this tick are issued: try again in {wait}, when the next one begins, or with more --node-ids"
        ),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{GenerateError, enough_for, problem};

    #[test]
    fn a_clock_that_is_behind_is_told_in_minutes() {
        let behind = GenerateError::ClockBehind { behind_ms: 69_077 };
        assert_eq!(
            problem(behind),
            "the next time that ids can have begins in 1m 10s: this machine's clock was set back or runs behind the \
             lease store's; correct the clock, or try again in 1m 10s"
        );
        let exhausted = GenerateError::SequenceExhausted {
            retry_in_ms: 20_000,
        };
        let message = problem(exhausted);
        assert!(message.contains("try again in 20s"), "{message}");
    }

    #[test]
    fn all_ids_are_issued_in_a_second_up_to_a_limit() {
        use randflake_std::{Layout, Mastodon, Randflake, Sonyflake};

        assert_eq!(enough_for(1_000_000, Sonyflake::SPEC), 40);
        assert_eq!(enough_for(u64::MAX, Mastodon::SPEC), 1);
        let cases = [
            (1, 1),
            (131_072, 1),
            (131_073, 2),
            (1_000_000, 8),
            (8_388_608, 64),
            (u64::MAX, 64),
        ];
        for (count, node_ids) in cases {
            assert_eq!(enough_for(count, Randflake::SPEC), node_ids);
        }
    }
}
