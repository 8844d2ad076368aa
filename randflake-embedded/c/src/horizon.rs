//! The horizon that the program keeps.

use randflake_core::{Blocks, HorizonStore, Randflake};

use crate::config::Config;
use crate::status::{self, Status};

pub(crate) struct OfTheProgram<'a>(&'a Config);

impl HorizonStore for OfTheProgram<'_> {
    type Error = Status;

    fn unix_s(&self) -> u32 {
        self.0.horizon()
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Status> {
        self.0.raise_horizon(unix_s)
    }
}

pub(crate) fn blocks(config: &Config) -> Result<Blocks<Randflake, OfTheProgram<'_>>, Status> {
    if config.horizon() == 0 {
        return Err(status::HORIZON_LOST);
    }
    let grant = config.grant.lease()?;
    Ok(Blocks::new(grant, OfTheProgram(config)).with_block_s(config.block_s))
}
