//! The command `randflake uuid inspect`.

use core::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};

use randflake_std::TaggedUuid;
use randflake_std::randflake_core::{LayoutSpec, TaggedUuidError};
use randflake_std::tagged::TagSecrets;
use serde_json::json;
use uuid::Uuid;

use super::KeysArgs;
use crate::failure::{Failure, say};
use crate::layout::LayoutArgs;
use crate::output::stdout;
use randflake_common::date::utc_in_ticks;

/// Say whether UUIDs were made by a holder of a key, and what they say: key number, id, time, node id, sequence
///
/// A UUID that was made up, one without a tag, and one of an unknown or retired key are refused, and the exit status is 1. A copied
/// UUID passes, so this is no permission to do anything. Without arguments UUIDs are read from standard input, one on each line.
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
        let bytes = Uuid::parse_str(text);
        let bytes = bytes.map_err(|error| self.refusal(text, format!("not a UUID: {error}")))?;
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
        let parts = secrets.inspect(spec, uuid);
        let parts = parts.map_err(|error| self.refusal(text, error))?;
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
