//! The command `randflake lease device`.

use std::io::Write;

use randflake_common::leases::device_id;
use randflake_common::number::within;
use randflake_std::lease::{Device, DeviceRequest};

use crate::failure::Failure;
use crate::output::{stdout, visible};
use crate::store::StoreArgs;

/// Register a device that gets its leases by tickets, or show what is known of it
///
/// A store keeps for each device the counter of its last ticket, and its owner: the name of the token of `randflake serve`
/// that gets tickets for it. `lease ticket` makes tickets for every device that is registered, whoever owns it.
///
/// --counter says where the tickets go on: 0 for a new device; for one whose record was lost, or was counted too far, what
/// the device itself reports as its last. Never less than that: the device refuses tickets up to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease device 00000000d0e5 --counter 0
  randflake lease device 00000000d0e5 --counter 0 --owner meters
  randflake lease device 00000000d0e5 --owner other-site
  randflake lease device 00000000d0e5")]
pub(crate) struct LeaseDeviceArgs {
    /// The device's number, up to 16 hex digits
    #[arg(value_name = "HEX", value_parser = device_id)]
    device: u64,
    /// The token of `randflake serve` that gets tickets for it; '' for none
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// The counter of the last ticket that the device has accepted, as it reports it; 0 for a new device
    #[arg(long, value_name = "N", value_parser = within::<u32>(0..=(1 << 30) - 1))]
    counter: Option<u32>,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseDeviceArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Devices belong to a namespace that is there: the store knows its layout.
        let mut store = self.store.open_stored()?;
        // Without options the command changes nothing.
        let request = if self.owner.is_none() && self.counter.is_none() {
            DeviceRequest::Look
        } else {
            DeviceRequest::Register {
                owner: self.owner.as_deref(),
                reported: self.counter,
            }
        };
        let Device {
            owner,
            last_counter,
        } = store.devices().request(self.device, &request)?;
        let owner = if owner.is_empty() {
            "nobody".to_owned()
        } else {
            visible(&owner)
        };
        let mut out = stdout();
        writeln!(
            out,
            "device {:016x} is owned by {owner}; its last ticket has counter {last_counter}",
            self.device
        )?;
        Ok(out.flush()?)
    }
}
