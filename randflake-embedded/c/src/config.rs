//! What the program gives: the grant and the callbacks.

use core::ffi::c_void;

use randflake_core::{DEFAULT_BLOCK_S, Layout, Lease, Randflake};

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

/// The C type `rf_config`.
#[repr(C)]
pub struct Given {
    key: Option<&'static [u8; 16]>,
    grant: Grant,
    block_s: u32,
    uptime_s: Option<Uptime>,
    read_horizon: Option<Read>,
    raise_horizon: Option<Raise>,
    user: *mut c_void,
}

/// A configuration that was checked.
pub(crate) struct Config {
    pub(crate) grant: Grant,
    pub(crate) block_s: u32,
    uptime_s: Uptime,
    read_horizon: Read,
    raise_horizon: Raise,
    user: *mut c_void,
}

/// A tick is a second.
const EPOCH_UNIX_S: u64 = Randflake::SPEC.epoch_unix_ms() / 1_000;
const _: () = assert!(Randflake::SPEC.tick_ms() == 1_000);

/// A store may raise its horizon to the next multiple of 4 s.
const ROUNDED_S: u32 = 3;

/// What a word of 32 bits counts, with that.
const MAX_BLOCK_S: u32 = ((u32::MAX - 1) >> Randflake::SPEC.sequence_bits()) - ROUNDED_S;

pub(crate) fn unix_s(tick: u64) -> u32 {
    // The layout's last tick is in 2058.
    u32::try_from(tick.wrapping_add(EPOCH_UNIX_S)).unwrap_or(u32::MAX)
}

impl Grant {
    // Not inlined, as it is called from three places.
    #[inline(never)]
    pub(crate) fn lease(self) -> Result<Lease<Randflake>, Status> {
        let tick = |unix_s| u64::from(unix_s).checked_sub(EPOCH_UNIX_S);
        let (Some(start), Some(end)) = (tick(self.start_unix_s), tick(self.end_unix_s)) else {
            return Err(status::GRANT);
        };
        Ok(Lease::new(Randflake, self.node_id, start, end)?)
    }
}

impl Given {
    /// The key beside it.
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

    /// Leaves of the grant what is not before the horizon, which is where the clock may begin.
    pub(crate) fn without_what_was_used(mut self) -> Result<Self, Status> {
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

    /// Durable, and read back.
    pub(crate) fn raise_horizon(&self, unix_s: u32) -> Result<(), Status> {
        let is_raised = (self.raise_horizon)(self.user, unix_s) == 0 && self.horizon() >= unix_s;
        if is_raised {
            Ok(())
        } else {
            Err(status::HORIZON_STORE)
        }
    }

    /// Whether another block follows without a gap the one that has so many ticks.
    pub(crate) fn can_extend(&self, ticks: u64) -> bool {
        ticks.saturating_add(self.block_s.into()) <= MAX_BLOCK_S.into()
    }
}
