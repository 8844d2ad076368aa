//! The command `randflake explain`.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::Write;

use randflake_std::lease::{Explanation, Gap, History, KeyCheck, LeaseStore, StoreError};
use randflake_std::{AnyLayout, Parts};

use crate::command::input::IdArgs;
use crate::failure::{Failure, say};
use crate::output::stdout;
use crate::secret::SecretArgs;
use crate::store::LeaseArgs;
use randflake_common::explain::ExplainRow;
use randflake_common::form::GivenId;

/// Show who issued ids: time, node id, and who held its lease then
///
/// Leases are kept for 400 days after their end. One id on the command line is shown with a line
/// for each field, several or those from standard input with a line for each id.
///
/// When an insert fails on a duplicate key, the verdict says why:
///   held       the id was issued, once: the same row was written twice, by a retry or a replay
///   contested  the holder's machine or process was copied: both copies may have issued it
///   nobody     it was made under another secret, layout or namespace, or is no id at all
///   ahead      the same: its time has not come
///   unknown    the store has no lease from that time any more; it says why
///
/// Of an id on the command line a few records are read, and its lease is compared with its hash. Of
/// ids from standard input the whole histories of their node ids are read, and each lease is
/// compared with its hash.
///
/// One random number in many decodes to a lease that somebody held, so `held` is likely, not
/// proven.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  randflake explain 3vgoe12ccb8gh
  randflake explain --from int --json 4594531474933654033
  psql -Atc 'SELECT id FROM orders' | randflake explain --from int --store postgres://ids@db/ids"
)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    ids: IdArgs,
    #[command(flatten)]
    store: LeaseArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl ExplainArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let codec = self.store.layout().codec(&self.secret)?;
        let spec = codec.layout().spec();
        // A new namespace has no history: `nobody` would be true, and misleading where its
        // name was mistyped.
        let mut store = self.store.open_existing()?;
        // Under another secret ids decrypt to other fields, and the answer would name somebody who
        // has nothing to do with them.
        store.set_key_check(KeyCheck::of(codec.permutation()));
        // How many ids standard input has is not known before it ends, so it is taken to have many.
        let mut source = LeaseSource::new(store, self.ids.ids.is_empty());
        let mut out = stdout();
        let form = self.store.layout().form();
        self.ids.for_each_block(form, |ids| {
            let (ids, foreign) = form.checked(ids);
            let parts = |given: &GivenId| codec.inspect(given.id);
            let parts: Vec<Parts> = ids.iter().map(parts).collect();
            source.read(&parts)?;
            for (given, parts) in ids.iter().zip(&parts) {
                let (explanation, now) = source.explain(*parts)?;
                let row = ExplainRow::new(given, *parts, spec, &explanation, now);
                if self.ids.json {
                    out.object(&row)?;
                } else if self.ids.ids.len() == 1 {
                    row.write_block(&mut out)?;
                } else {
                    row.write_line(&mut out)?;
                }
            }
            foreign
        })?;
        // Last, so that the warnings stand below the ids and are not lost above them.
        source.tell_gaps();
        Ok(out.flush()?)
    }
}

/// Source of explanations: the store, and the histories read so far.
///
/// For ids on the command line the store searches its history for one lease. For many ids that
/// would be a search each, so the whole history of each node id is read once, which also checks all
/// of its hashes.
struct LeaseSource {
    store: LeaseStore,
    /// The whole histories of node ids, where many ids are explained.
    histories: Option<Histories>,
    /// Gaps that the searches have met, by node id. Histories have theirs themselves.
    gaps: BTreeMap<u32, Gap>,
}

impl LeaseSource {
    fn new(store: LeaseStore, are_many: bool) -> Self {
        Self {
            store,
            histories: are_many.then(Histories::default),
            gaps: BTreeMap::new(),
        }
    }

    fn read(&mut self, parts: &[Parts]) -> Result<(), StoreError> {
        match &mut self.histories {
            Some(histories) => histories.read(&mut self.store, parts),
            None => Ok(()),
        }
    }

    /// Explains who held a node id, and returns the time of the store's clock that this was true
    /// at.
    fn explain(&mut self, parts: Parts) -> Result<(Explanation, Duration), StoreError> {
        let histories = self.histories.as_ref();
        if let Some(history) = histories.and_then(|histories| histories.of(parts.node_id)) {
            return Ok((history.explain(parts.node_id, parts.tick), history.now()));
        }
        let explained = self.store.history().explain(parts.node_id, parts.tick)?;
        self.gaps
            .extend(explained.gap.map(|gap| (gap.node_id, gap)));
        Ok((explained.explanation, explained.now))
    }

    /// Says which histories have gaps: somebody with write access to the store has changed them.
    fn tell_gaps(&self) {
        let read = self.histories.iter().flat_map(Histories::gaps);
        for gap in read.chain(self.gaps.values()) {
            let what = if gap.is_changed {
                "was changed"
            } else {
                "is missing"
            };
            let which = match gap.fencing_token {
                0 => "its latest lease".to_owned(),
                token => format!("a lease before fencing token {token}"),
            };
            say(&format!(
                "the history of node id {} was tampered with: {which} {what}",
                gap.node_id
            ));
        }
    }
}

/// The histories of node ids, each read once.
#[derive(Default)]
struct Histories {
    by_node_id: BTreeMap<u32, History>,
    all: Option<History>,
}

impl Histories {
    /// Reads the histories of the node ids of some ids that were not read yet. From many node ids
    /// on, those of all.
    fn read(&mut self, store: &mut LeaseStore, parts: &[Parts]) -> Result<(), StoreError> {
        const MANY: usize = 64;
        for parts in parts {
            let node_id = parts.node_id;
            if self.of(node_id).is_some() {
                continue;
            }
            // A read takes as long as a round trip, so from here on one large read is faster than
            // many.
            if self.by_node_id.len() >= MANY {
                self.all = Some(store.history().read(0..=u32::MAX)?);
                return Ok(());
            }
            let history = store.history().read(node_id..=node_id)?;
            self.by_node_id.insert(node_id, history);
        }
        Ok(())
    }

    fn of(&self, node_id: u32) -> Option<&History> {
        self.all.as_ref().or_else(|| self.by_node_id.get(&node_id))
    }

    fn gaps(&self) -> impl Iterator<Item = &Gap> {
        // Those of single node ids are in `all` again.
        let some = self.by_node_id.values().filter(|_| self.all.is_none());
        self.all.iter().chain(some).flat_map(History::gaps)
    }
}
