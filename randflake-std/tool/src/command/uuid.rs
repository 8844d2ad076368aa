//! `uuid generate` and `uuid inspect`: tagged UUIDs.

use core::fmt::Display;
use core::time::Duration;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use randflake_common::date::{self, utc_in_ticks};
use randflake_common::layout::IdEncryption;
use randflake_common::number::within;
use randflake_std::randflake_core::{LayoutSpec, TaggedUuidError};
use randflake_std::tagged::{TagSecrets, TaggedBuilder, TaggedHandle};
use randflake_std::{KeyNumber, Secret, TaggedUuid};
use serde_json::json;
use uuid::Uuid;

use crate::command::generate::{self, WAIT_LIMIT, say_unless_released};
use crate::command::input::BLOCK;
use crate::command::interrupt::Interrupt;
use crate::failure::{Failure, say};
use crate::layout::LayoutArgs;
use crate::output::stdout;
use crate::store::LeaseArgs;
use crate::wait::WaitArgs;

/// Make and check tagged UUIDs: ids with a tag that only a holder of the key can make
///
/// They are UUIDs of version 8 for columns of type uuid. Their keys are numbered files in a
/// directory, and a namespace goes on from one key to the next by `randflake lease next-key`.
#[derive(Debug, clap::Args)]
pub(crate) struct UuidArgs {
    #[command(subcommand)]
    command: UuidCommand,
}

#[derive(Debug, Subcommand)]
enum UuidCommand {
    Generate(UuidGenerateArgs),
    Inspect(UuidInspectArgs),
}

impl UuidArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            UuidCommand::Generate(args) => args.run(),
            UuidCommand::Inspect(args) => args.run(),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeysArgs {
    /// Directory of the namespace's keys: 1.key to 63.key, each a secret that only its owner may
    /// read
    ///
    /// `randflake keygen --out DIRECTORY/1.key` makes the first one. A key whose file was removed
    /// is retired.
    #[arg(long, value_name = "DIRECTORY", env = "RANDFLAKE_KEYS")]
    keys: PathBuf,
}

impl KeysArgs {
    /// Reads the keys. The tags of a namespace's UUIDs depend on its name.
    pub(crate) fn read(&self, namespace: &str) -> Result<TagSecrets, Failure> {
        Ok(TagSecrets::open(&self.keys, namespace)?)
    }
}

/// The secret of a key number.
pub(crate) fn secret(keys: &TagSecrets, number: KeyNumber) -> Result<Secret, Failure> {
    let file = keys.file(number);
    if !keys.numbers().any(|other| other == number) {
        let there: Vec<_> = keys.numbers().map(|other| format!("{other}.key")).collect();
        return Err(Failure::failed(format!(
            "{} is not there: put the secret there that others have for that number, or if nobody has one yet, make it once with \
             `randflake keygen --out` and copy it to all; there are {}",
            file.display(),
            there.join(", ")
        )));
    }
    Secret::from_file(&file).map_err(Failure::failed)
}

/// Make new tagged UUIDs, one on each line
///
/// The namespace issues under one key number at a time. One that is not there yet begins with the
/// highest number of the directory. UUIDs are unique over all keys; the 64 bits of id in them are
/// not, so store the whole UUID.
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
        if layout.form() != IdEncryption::Bits64 {
            return Err(Failure::usage(
                "--layout: tagged UUIDs have ids that are encrypted to 64 bits: randflake, milliflake, or encrypted: before another one",
            ));
        }
        layout.has_time_left()?;
        let namespace = self.store.named_namespace()?;
        let ttl = generate::ttl(self.ttl, &namespace)?;
        let secrets = self.keys.read(namespace.name())?;
        let note = self.store.store().note_of_local_leases(&namespace)?;
        // Before the first lease: a signal between the grant and the watch would leave it to
        // expire.
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
                    // "The lease has expired" does not say why it was not renewed; what the store
                    // said last does.
                    let store = handle.lease().last_error.map(|error| format!("; {error}"));
                    Failure::failed(format!("{error}{}", store.unwrap_or_default()))
                })?
            };
            writeln!(out, "{uuid}")?;
        }
        Ok(out.flush()?)
    }
}

/// Say whether UUIDs were made by a holder of a key, and what they say: key number, id, time, node
/// id, sequence
///
/// A UUID that was made up, one without a tag, and one of an unknown or retired key are refused,
/// and the exit status is 1. A copied UUID passes, so this is no permission to do anything. Without
/// arguments UUIDs are read from standard input, one on each line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake uuid inspect --keys keys --namespace orders 01234567-89ab-8cde-bc11-23456789abcd
  psql -Atc 'SELECT id FROM orders' | randflake uuid inspect --keys keys --namespace orders --json")]
pub(crate) struct UuidInspectArgs {
    /// UUIDs, in either case, with hyphens or without
    #[arg(value_name = "UUID")]
    uuids: Vec<String>,
    /// Print a JSON object for each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keys: KeysArgs,
    /// Namespace of the UUIDs, which their tags depend on
    #[arg(
        long,
        value_name = "NAME",
        env = "RANDFLAKE_NAMESPACE",
        hide_env_values = true
    )]
    namespace: String,
    #[command(flatten)]
    layout: LayoutArgs,
}

impl UuidInspectArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let secrets = self.keys.read(&self.namespace)?;
        let mut out = stdout();
        let (mut count, mut refused) = (0_u64, 0_u64);
        let mut inspect = |text: &str| -> Result<(), Failure> {
            count += 1;
            let line = match self.line(&secrets, text) {
                Ok(line) => line,
                Err(why) => {
                    refused += 1;
                    why
                }
            };
            Ok(writeln!(out, "{line}")?)
        };
        if self.uuids.is_empty() {
            let stdin = io::stdin().lock();
            if stdin.is_terminal() {
                say("reading UUIDs from the terminal, one on each line; Ctrl-D ends");
            }
            for line in stdin.lines() {
                let line =
                    line.map_err(|error| Failure::failed(format!("standard input: {error}")))?;
                let text = line.trim();
                if !text.is_empty() {
                    inspect(text)?;
                }
            }
        } else {
            self.uuids.iter().try_for_each(|text| inspect(text))?;
        }
        out.flush()?;
        if refused == 0 {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{refused} of {count} UUIDs refused: not made by a holder of a key in the directory for the namespace {:?}",
            self.namespace
        )))
    }

    /// What is printed of a UUID; as an error if it is refused.
    fn line(&self, secrets: &TagSecrets, text: &str) -> Result<String, String> {
        // Of either case, with or without hyphens: `convert` takes them all, too.
        let bytes = Uuid::parse_str(text)
            .map_err(|error| self.refusal(text, format!("not a UUID: {error}")))?;
        let read = |bytes| {
            let uuid = tagged(bytes).map_err(|error| error.to_string())?;
            let id = secrets.check(uuid).map_err(|error| error.to_string())?;
            Ok::<_, String>((uuid, id))
        };
        let (uuid, id) = read(bytes).map_err(|error| {
            if read(turned(bytes)).is_ok() {
                let why = "its first 8 bytes are in the order of .NET's Guid: read and write them with bigEndian: true";
                return self.refusal(text, why);
            }
            self.refusal(text, error)
        })?;
        let spec: LayoutSpec = self.layout.layout.spec();
        let parts = secrets
            .inspect(spec, uuid)
            .map_err(|error| self.refusal(text, error))?;
        let number = uuid.key_number();
        let time = utc_in_ticks(spec.unix_ms(parts.tick), spec.tick_ms());
        let (node, sequence) = (parts.node_id, parts.sequence);
        Ok(if self.json {
            // Text: not every JSON reader keeps the id's 64 bits in a number.
            json!({
                "uuid": text, "key_number": number.get(), "id": id.to_string(), "int": id.to_i64().to_string(),
                "time": time, "node": node, "sequence": sequence,
            })
            .to_string()
        } else {
            format!(
                "{text}  made by a holder of key {number}  id {id}  time {time}  node {node}  sequence {sequence}"
            )
        })
    }

    fn refusal(&self, text: &str, why: impl Display) -> String {
        if self.json {
            return json!({ "uuid": text, "refused": why.to_string() }).to_string();
        }
        format!("{text}  refused: {why}")
    }
}

fn tagged(uuid: Uuid) -> Result<TaggedUuid, TaggedUuidError> {
    TaggedUuid::from_bytes(uuid.into_bytes())
}

/// With the bytes of its first three numbers in the other order, as .NET has them.
fn turned(uuid: Uuid) -> Uuid {
    let (first, second, third, rest) = uuid.as_fields();
    let [second, third] = [second, third].map(u16::swap_bytes);
    Uuid::from_fields(first.swap_bytes(), second, third, rest)
}
