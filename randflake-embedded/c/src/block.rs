//! `rf_renew`, which claims blocks, and `rf_next`, which issues their ids.

use core::mem::MaybeUninit;

use randflake_core::{Clock, Id, Layout, Lease, Sequencer};

use crate::clock::Time;
use crate::config::{counted, unix_s};
use crate::form::Ids;
use crate::gate::{OPEN, SET_UP};
use crate::status::{self, Status};
use crate::word::Word;
use crate::{Rf, horizon};

#[unsafe(no_mangle)]
extern "C" fn rf_renew(rf: Option<&Rf>) -> Status {
    let renewed = rf.ok_or(status::NULL);
    status::of(renewed.and_then(|rf| rf.alone(|| renew(rf))))
}

/// Only for the call that has claimed the gate.
// Not inlined: in there a lease would be copied by `memcpy` on RISC-V.
#[inline(never)]
fn renew(rf: &Rf) -> Result<(), Status> {
    if !rf.gate.has(SET_UP) {
        return Err(status::NULL);
    }
    // SAFETY: it is set up, and the gate is claimed.
    let setup = unsafe { rf.setup() };
    let config = &setup.config;
    let time = Time { rf, setup };
    let now = time.now().ok_or(status::CLOCK_UNKNOWN)?;
    let tick = Ids::SPEC.tick_at(now).unwrap_or(0);
    let mut blocks = horizon::blocks(config.grant.lease()?, config);

    let has_former = rf.gate.has(OPEN);
    if has_former {
        // SAFETY: it is in force, and the gate is claimed.
        let block = unsafe { rf.block() };
        let lease = block.lease();
        if tick < lease.end() {
            let left = lease.end().wrapping_sub(tick);
            if left > u64::from(config.block_s / 2) || !config.can_extend(lease.ticks()) {
                return Ok(());
            }
            match blocks.extend(lease) {
                // Fails only if the block has ended meanwhile: the next call begins another.
                Ok(extended) => _ = block.extend(counted(extended)?, &time),
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
    if !rf.gate.withdraw(OPEN) {
        return Err(status::BUSY);
    }
    let replaced = match blocks.begin(Some(now)) {
        Ok(lease) => rf.replace(lease),
        Err(error) => Err(error.into()),
    };
    // After a failure the former block stays in force, should the clock return to it.
    if replaced.is_ok() || has_former {
        rf.gate.provide(OPEN);
    }
    replaced
}

impl Rf {
    /// Puts a new block in place of the old one. Only for the call that has withdrawn `OPEN`.
    pub(crate) fn replace(&self, lease: Lease<Ids>) -> Result<(), Status> {
        let block = MaybeUninit::new(Sequencer::new(counted(lease)?)?);
        // SAFETY: nobody is inside, and nobody enters to issue from what was there.
        unsafe { self.block.get().write(block) };
        Ok(())
    }

    /// # Safety
    ///
    /// The gate has `OPEN`, and the caller is inside or has claimed it.
    pub(crate) unsafe fn block(&self) -> &Sequencer<Ids, Word> {
        // SAFETY: who replaces it claims the gate, and withdraws `OPEN` first.
        let block = unsafe { &*self.block.get() };
        // SAFETY: it was written before `OPEN` was set.
        unsafe { block.assume_init_ref() }
    }
}

#[unsafe(no_mangle)]
extern "C" fn rf_next(rf: Option<&Rf>, id: Option<&mut MaybeUninit<u64>>) -> Status {
    let (Some(rf), Some(id)) = (rf, id) else {
        return status::NULL;
    };
    if !rf.gate.enter(OPEN) {
        return status::NO_BLOCK;
    }
    let issued = next(rf);
    rf.gate.leave();
    match issued {
        Ok(issued) => {
            id.write(issued.to_u64());
            status::OK
        }
        Err(status) => status,
    }
}

#[inline]
fn next(rf: &Rf) -> Result<Id, Status> {
    // SAFETY: it is open, and stays so until the gate is left.
    let block = unsafe { rf.block() };
    // SAFETY: where a block is there is a configuration.
    let setup = unsafe { rf.setup() };
    let raw = block.take(&Time { rf, setup }, 0)?;
    Ok(setup.codec.id(raw))
}

/// The C type `rf_parts`.
#[repr(C)]
struct Parts {
    unix_s: u32,
    node_id: u32,
    sequence: u32,
}

#[unsafe(no_mangle)]
extern "C" fn rf_inspect(rf: Option<&Rf>, id: u64) -> Parts {
    let parts = rf.and_then(|rf| rf.inside(|setup| setup.codec.inspect(Id::from_u64(id))));
    match parts {
        Some(parts) => Parts {
            unix_s: unix_s(parts.tick),
            node_id: parts.node_id,
            sequence: parts.sequence,
        },
        None => Parts {
            unix_s: 0,
            node_id: 0,
            sequence: 0,
        },
    }
}
