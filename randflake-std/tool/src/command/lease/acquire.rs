//! The command `randflake lease acquire`.

use core::slice;
use core::time::Duration;

use randflake_common::leases::LeaseDocument;
use randflake_std::DEFAULT_TTL;
use randflake_std::lease::{AcquireRequest, Grant, NodeIds, Token};

use super::document::{self, caller};
use crate::failure::Failure;
use crate::secret::SecretArgs;
use crate::store::LeaseArgs;
use crate::wait::{self, WaitArgs};
use randflake_common::date;
use randflake_common::number::within;

/// Lease node ids for another program
///
/// Prints what it needs to issue ids, and what `lease renew` and `lease release` take. In each tick from start_tick
/// up to and without end_tick (from start_unix_ms up to and without end_unix_ms) one generator may issue each sequence
/// of the node id once. It renews at a third of the time, and stops at the end unless that was moved. Nobody else has
/// the node id before.
///
/// It needs no secret. Where one is known here, a namespace of another secret is refused.
///
/// Exit status: 0 granted, 1 failed, 2 wrong arguments, 3 nothing granted now: try again later, or use --wait.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease acquire --json > lease.json
  randflake lease acquire -n 4 --ttl 5m --max-ttl 5m --holder import/7 --wait 2m --json
  randflake lease renew --grant lease.json --request $(uuidgen) --json > new.json && mv new.json lease.json
  randflake lease release --grant lease.json --request $(uuidgen)")]
pub(crate) struct LeaseAcquireArgs {
    /// How many node ids to lease
    #[arg(
        short = 'n',
        long,
        value_name = "K",
        default_value = "1",
        value_parser = within::<u32>(1..=u64::from(u32::MAX)),
        allow_negative_numbers = true,
        conflicts_with = "node_id"
    )]
    count: u32,
    /// This node id, instead of any that is free
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node_id: Option<String>,
    /// How long the lease lasts unless it is renewed: seconds, or a time such as 90s or 5m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// Who has it, for `lease list` [default: host, process that runs this command, a random number]
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Print a JSON object, which `lease renew` and `lease release` need
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseAcquireArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let layout = self.store.layout();
        let chosen = layout.node_id(self.node_id.as_deref())?;
        let holder = match &self.holder {
            // `lease ticket` finds the lease of a device by such a name, and `lease list` shows nothing of an empty one.
            Some(name) if name.is_empty() || name.starts_with("device/") => {
                return Err(Failure::usage(format!(
                    "--holder {name:?}: it must have a character, and not begin with device/, which is for `randflake \
                     lease ticket`"
                )));
            }
            Some(name) => name.clone(),
            None => caller()?,
        };
        let mut store = self.store.open_within(&self.wait)?;
        // So that a namespace of another secret refuses; one without a check value takes this one.
        if let Some(key_check) = layout.known_key_check(&self.secret)? {
            store.set_key_check(key_check);
        }
        let namespace = store.namespace();
        // A layout may have ticks that are longer than the default.
        let shortest = Duration::from_millis(namespace.spec().tick_ms());
        // One token for all attempts: a repetition after a lost answer gets the same grants.
        let request = AcquireRequest {
            token: Token::random().map_err(Failure::failed)?,
            holder: &holder,
            nodes: match &chosen {
                Some(chosen) => NodeIds::These(slice::from_ref(chosen)),
                None => NodeIds::Any(self.count),
            },
            ttl: namespace.ticks(self.ttl.unwrap_or(DEFAULT_TTL.max(shortest))),
        };
        let acquired = self.wait.until(wait::sleep, || store.acquire(&request))?;
        let document = LeaseDocument::of(store.namespace(), holder.clone(), &acquired);
        document::print(&document, self.json).inspect_err(|_| {
            // Nobody has read the whole document, so nobody issues ids. If the release fails, the leases expire.
            let unused = acquired.grants.iter().map(|grant| Grant {
                end: grant.start,
                ..*grant
            });
            _ = store.release(&unused.collect::<Vec<_>>());
        })
    }
}
