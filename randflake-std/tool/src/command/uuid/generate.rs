//! The command `randflake uuid generate`.

use core::time::Duration;
use std::io::Write;
use std::sync::Arc;

use randflake_std::randflake_core::LayoutSpec;
use randflake_std::tagged::{TaggedBuilder, TaggedHandle};

use super::KeysArgs;
use crate::command::input::BLOCK;
use crate::command::interrupt::Interrupt;
use crate::command::issuing::{self, WAIT_LIMIT, say_unless_released};
use crate::failure::{Failure, say};
use crate::output::stdout;
use crate::store::LeaseArgs;
use crate::wait::WaitArgs;
use randflake_common::date;
use randflake_common::layout::IdForm;
use randflake_common::number::within;

/// Make new tagged UUIDs, one on each line
///
/// The namespace issues under one key number at a time. One that is not there yet begins with the highest number of the directory.
/// UUIDs are unique over all keys; the 64 bits of id in them are not, so store the whole UUID.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mkdir -m 700 keys && randflake keygen --out keys/1.key
  randflake uuid generate --keys keys --namespace orders -n 5
  randflake uuid generate --keys /etc/randflake/orders --namespace orders --store postgres://ids@db.internal/ids")]
pub(crate) struct UuidGenerateArgs {
    /// How many to make
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value = "1",
        value_parser = within::<u64>(0..=u64::MAX),
        allow_negative_numbers = true
    )]
    count: u64,
    #[command(flatten)]
    keys: KeysArgs,
    /// How long a lease lasts unless it is renewed [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl UuidGenerateArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let layout = self.store.layout();
        if layout.form() != IdForm::Bits64 {
            return Err(Failure::usage(
                "--layout: tagged UUIDs have ids that are encrypted to 64 bits: randflake, milliflake, or encrypted: before another one",
            ));
        }
        layout.has_time_left()?;
        let namespace = self.store.named_namespace()?;
        let ttl = issuing::ttl(self.ttl, &namespace)?;
        let secrets = self.keys.read(namespace.name())?;
        let note = self.store.store().note_of_local_leases(&namespace)?;
        // Before the first lease: a signal between the grant and the watch would leave it to expire.
        let interrupt = Interrupt::watch()?;
        let open = Arc::new(self.store.opener(namespace)?);
        // The builder could wait by itself, but not so that a signal ends it.
        let handle = self.wait.until(
            |time| interrupt.pause(time),
            || {
                let open = Arc::clone(&open);
                let builder = TaggedBuilder::new(layout.spec(), &secrets, move || open());
                builder.ttl(ttl).build()
            },
        )?;
        if let Some(note) = &note {
            say(note);
        }
        let closing = handle.clone();
        interrupt.on_signal(move || say_unless_released(closing.close()));
        let printed = self.print(&handle, &interrupt);
        say_unless_released(handle.close());
        // After a signal the handle is closed, so `printed` may have failed for that reason alone.
        interrupt.check().and(printed)
    }

    fn print(
        &self,
        handle: &TaggedHandle<LayoutSpec>,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut out = stdout();
        for made in 0..self.count {
            // So often that a signal is noticed at once.
            if made % BLOCK as u64 == 0 {
                interrupt.check()?;
            }
            let uuid = if let Ok(uuid) = handle.generate() {
                uuid
            } else {
                // The reader gets all that was made so far.
                out.flush()?;
                let limit = self.wait.limit().max(WAIT_LIMIT);
                let waited = handle.generate_wait(limit);
                waited.map_err(|error| {
                    // "The lease has expired" does not say why it was not renewed; what the store said last does.
                    let store = handle.lease().last_error.map(|error| format!("; {error}"));
                    Failure::failed(format!("{error}{}", store.unwrap_or_default()))
                })?
            };
            writeln!(out, "{uuid}")?;
        }
        Ok(out.flush()?)
    }
}
