//! Leases as a program keeps them between two runs of the tool.

use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::process::parent_id as caller_id;
use std::path::{Path, PathBuf};
#[cfg(not(unix))]
use std::process::id as caller_id;

use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::lease::{Acquired, Grant, LeaseStore, Namespace, Token, holder_of_process};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::output::stdout;
use crate::store::StoreArgs;

/// The leases that one acquire gave, as `lease acquire` and `lease renew` print them, and `lease renew` and `lease release`
/// read them. What does not follow from the ticks is `token`: who has it and may write to the store can renew and end the
/// leases.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) namespace: String,
    holder: String,
    /// The store's clock when it answered.
    now_unix_ms: u64,
    epoch_unix_ms: u64,
    tick_ms: u64,
    pub(super) leases: Vec<Entry>,
    /// Those that were not renewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) lost: Vec<Lost>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) node: u32,
    start_unix_ms: u64,
    end_unix_ms: u64,
    start_tick: u64,
    end_tick: u64,
    fencing_token: u64,
    token: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Lost {
    pub(super) node: u32,
    pub(super) reason: String,
}

/// Where a document comes from.
#[derive(Debug, clap::Args)]
pub(super) struct GrantArgs {
    /// What `lease acquire --json` or `lease renew --json` has printed; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) grant: Option<PathBuf>,
}

impl GrantArgs {
    /// Reads it from the file, or from standard input without one.
    pub(super) fn read(&self) -> Result<Document, Failure> {
        /// 131,072 leases take 26 MB.
        const MOST: u64 = 64 << 20;
        let stdin = Path::new("-");
        let path = self.grant.as_deref().unwrap_or(stdin);
        let mut text = String::new();
        let (shown, read) = if path == stdin {
            let read = io::stdin().lock().take(MOST).read_to_string(&mut text);
            ("standard input".to_owned(), read)
        } else {
            let read = File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
            (path.display().to_string(), read)
        };
        read.map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        let document: Document = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!(
                "{shown}: this is not what `randflake lease acquire --json` prints: {error}"
            ))
        })?;
        // Before anything is asked of a store.
        document.grants()?;
        Ok(document)
    }
}

impl Document {
    pub(super) fn of(namespace: &Namespace, holder: String, acquired: &Acquired) -> Self {
        let spec = namespace.spec();
        let entry = |grant: &Grant| Entry {
            node: grant.node_id,
            start_unix_ms: spec.unix_ms(grant.start),
            end_unix_ms: spec.unix_ms(grant.end),
            start_tick: grant.start,
            end_tick: grant.end,
            fencing_token: grant.fencing_token,
            token: grant.token.to_string(),
        };
        Self {
            namespace: namespace.name().to_owned(),
            holder,
            now_unix_ms: super::snapshot::ms(acquired.now),
            epoch_unix_ms: spec.epoch_unix_ms(),
            tick_ms: spec.tick_ms(),
            leases: acquired.grants.iter().map(entry).collect(),
            lost: Vec::new(),
        }
    }

    /// The same leases as they are after a renewal.
    pub(super) fn renewed(self, namespace: &Namespace, acquired: &Acquired) -> Self {
        Self::of(namespace, self.holder, acquired)
    }

    pub(super) fn grants(&self) -> Result<Vec<Grant>, Failure> {
        let grants = self.leases.iter().map(Entry::grant);
        grants.collect()
    }

    /// The namespace's store, which must be there and be of the same layout.
    pub(super) fn open(&self, store: &StoreArgs) -> Result<Box<dyn LeaseStore>, Failure> {
        let opened = store.open_named(&self.namespace)?;
        let spec = opened.namespace().spec();
        if (spec.epoch_unix_ms(), spec.tick_ms()) != (self.epoch_unix_ms, self.tick_ms) {
            return Err(Failure::failed(format!(
                "the namespace {:?} has another epoch or tick than these leases: it was dropped and made anew, or it \
                 is another store's",
                self.namespace
            )));
        }
        Ok(opened)
    }

    /// For programs or people.
    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        let mut out = stdout();
        if json {
            serde_json::to_writer(&mut out, self).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            for lease in &self.leases {
                let [start, end] = [lease.start_unix_ms, lease.end_unix_ms]
                    .map(|unix_ms| utc(Duration::from_millis(unix_ms)));
                writeln!(
                    out,
                    "node id {} is leased from {start} to {end}",
                    lease.node
                )?;
            }
        }
        Ok(out.flush()?)
    }
}

impl Entry {
    fn grant(&self) -> Result<Grant, Failure> {
        let token = Some(&self.token).filter(|token| token.len() == 32);
        let token = token.and_then(|token| u128::from_str_radix(token, 16).ok());
        let Some(token) = token.filter(|_| self.start_tick < self.end_tick) else {
            return Err(Failure::usage(format!(
                "the lease of node id {} is damaged: start_tick must be below end_tick, and token have 32 hex digits",
                self.node
            )));
        };
        Ok(Grant {
            node_id: self.node,
            start: self.start_tick,
            end: self.end_tick,
            fencing_token: self.fencing_token,
            token: Token::from_bytes(token.to_be_bytes()),
        })
    }
}

/// The program that runs this command: the command itself ends before the lease does.
pub(super) fn caller() -> Result<String, Failure> {
    holder_of_process(caller_id()).map_err(Failure::failed)
}
