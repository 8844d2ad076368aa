//! Configuration of an `rf_t`: the grant and the callbacks.

use core::ffi::c_void;

use randflake_core::{DEFAULT_BLOCK_S, Layout, Lease, Randflake};

use crate::form::Ids;
use crate::status::{self, Status};

type Uptime = extern "C" fn(*mut c_void) -> u32;
type Read = extern "C" fn(*mut c_void) -> u32;
type Raise = extern "C" fn(*mut c_void, u32) -> i32;

/// The C type `rf_grant`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Grant {
    pub(crate) node_id: u32,
    pub(crate) start_unix_s: u32,
    pub(crate) end_unix_s: u32,
}

/// The C type `rf_config`: any pointer in it may be null.
#[repr(C)]
pub struct RawConfig {
    key: Option<&'static [u8; 16]>,
    grant: Grant,
    block_s: u32,
    uptime_s: Option<Uptime>,
    read_horizon: Option<Read>,
    raise_horizon: Option<Raise>,
    user: *mut c_void,
}

/// A configuration whose callbacks are there and whose grant is valid.
pub(crate) struct Config {
    pub(crate) grant: Grant,
    pub(crate) block_s: u32,
    uptime_s: Uptime,
    read_horizon: Read,
    raise_horizon: Raise,
    user: *mut c_void,
}

/// Epoch of the layout in seconds of Unix time; its ticks are seconds.
const EPOCH_UNIX_S: u64 = Ids::SPEC.epoch_unix_ms() / 1_000;
const _: () = assert!(Ids::SPEC.tick_ms() == 1_000);

/// How far a store may raise a horizon above what it was told: to the next multiple of 4 s, and by
/// 4 s for each of sixteen records that it failed to write before. A longer block than that is cut:
/// see `counted`.
const ROUNDED_S: u32 = 3 + 16 * 4;

/// Seconds of which a 32-bit word counts the positions. It counts more of 53-bit ids; the limit is
/// one for both.
const COUNTED_S: u32 = (u32::MAX - 1) >> Randflake::SPEC.sequence_bits();

/// Longest block in seconds.
const MAX_BLOCK_S: u32 = COUNTED_S - ROUNDED_S;

pub(crate) fn unix_s(tick: u64) -> u32 {
    // The layout's last tick is in 2058.
    u32::try_from(tick.wrapping_add(EPOCH_UNIX_S)).unwrap_or(u32::MAX)
}

impl Grant {
    pub(crate) fn of(lease: &Lease<Ids>) -> Self {
        Self {
            node_id: lease.node_id(),
            start_unix_s: unix_s(lease.start()),
            end_unix_s: unix_s(lease.end()),
        }
    }

    // Not inlined, as it is called from three places.
    #[inline(never)]
    pub(crate) fn lease(self) -> Result<Lease<Ids>, Status> {
        // Blank flash. Its times are none, but a program that converts them may have made any of
        // them.
        if self.node_id == u32::MAX {
            return Err(status::NOT_PROVISIONED);
        }
        let tick = |unix_s| u64::from(unix_s).checked_sub(EPOCH_UNIX_S);
        let (Some(start), Some(end)) = (tick(self.start_unix_s), tick(self.end_unix_s)) else {
            return Err(status::GRANT);
        };
        Ok(Lease::new(Ids, self.node_id, start, end)?)
    }
}

/// A block, up to where a word counts it. What is cut off stays below the horizon, so nobody issues
/// of it.
pub(crate) fn counted(block: Lease<Ids>) -> Result<Lease<Ids>, Status> {
    let end = block.start().wrapping_add(COUNTED_S.into());
    if block.end() <= end {
        return Ok(block);
    }
    Ok(Lease::new(Ids, block.node_id(), block.start(), end)?)
}

impl RawConfig {
    /// Checks that nothing is missing or out of range; returns the key apart, since only its cipher
    /// is kept.
    pub(crate) fn check(&self) -> Result<(&[u8; 16], Config), Status> {
        let Self {
            key: Some(key),
            grant,
            block_s,
            uptime_s: Some(uptime_s),
            read_horizon: Some(read_horizon),
            raise_horizon: Some(raise_horizon),
            user,
        } = *self
        else {
            return Err(status::NULL);
        };
        grant.lease()?;
        if block_s > MAX_BLOCK_S {
            return Err(status::BLOCK);
        }
        let block_s = if block_s == 0 {
            DEFAULT_BLOCK_S
        } else {
            block_s
        };
        let config = Config {
            grant,
            block_s,
            uptime_s,
            read_horizon,
            raise_horizon,
            user,
        };
        Ok((key, config))
    }
}

impl Config {
    pub(crate) fn uptime_s(&self) -> u32 {
        (self.uptime_s)(self.user)
    }

    pub(crate) fn horizon(&self) -> u32 {
        (self.read_horizon)(self.user)
    }

    /// Cuts off what lies before the horizon, so that the clock may begin where the grant does.
    pub(crate) fn after_horizon(mut self) -> Result<Self, Status> {
        let horizon = self.horizon();
        if horizon == 0 {
            return Err(status::HORIZON_LOST);
        }
        if horizon >= self.grant.end_unix_s {
            return Err(status::GRANT_USED);
        }
        self.grant.start_unix_s = self.grant.start_unix_s.max(horizon);
        Ok(self)
    }

    /// Cuts off what lies before the rest of the last block, which ends at the horizon.
    pub(crate) fn after(mut self, rest: &Lease<Ids>) -> Self {
        self.grant.start_unix_s = unix_s(rest.start());
        self
    }

    /// Raises the horizon and reads it back: a callback that reports success without writing is
    /// found here.
    pub(crate) fn raise_horizon(&self, unix_s: u32) -> Result<(), Status> {
        let is_raised = (self.raise_horizon)(self.user, unix_s) == 0 && self.horizon() >= unix_s;
        if is_raised {
            Ok(())
        } else {
            Err(status::HORIZON_STORE)
        }
    }

    /// Whether a lease of so many ticks may be extended by a block: the word must still count it.
    pub(crate) fn can_extend(&self, ticks: u64) -> bool {
        ticks.saturating_add(self.block_s.into()) <= MAX_BLOCK_S.into()
    }
}
