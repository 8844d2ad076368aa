//! The command `randflake lease next-key`.

use randflake_std::KeyNumber;
use randflake_std::date::span;
use randflake_std::lease::KeyCheck;

use crate::command::uuid::{self, KeysArgs};
use crate::failure::Failure;
use crate::output::print_line;
use crate::store::StoreArgs;

/// Let a namespace of tagged UUIDs go on to its next key
///
/// First put the new key's file into the directory of every reader, then of every holder. From this command on no lease is granted or
/// renewed under the key before, and every holder goes on to the new one within the namespace's longest TTL. UUIDs of the old key
/// stay readable until its file is removed.
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
