//! The command `randflake lease upgrade`.

use randflake_std::lease::{Record, Upgrade};

use crate::failure::Failure;
use crate::output::{print_line, visible};
use crate::store::StoreArgs;

/// How many holders a refusal names.
const NAMED: usize = 10;

/// Let records be written that programs of older versions cannot read
///
/// Once after an update whose notes ask for it, when all processes of the namespace run the new version; before that, old and
/// new ones work side by side. From then on older programs write nothing in the namespace: they issue until their leases end,
/// and stop. There is no way back.
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
            let named = holders.iter().take(NAMED).map(described);
            let named: Vec<_> = named.collect();
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
