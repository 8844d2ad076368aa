//! `rf_renew`, which claims blocks, and `rf_next`, which issues their ids.

use core::mem::MaybeUninit;

use randflake_core::{Clock, Codec, Id, Layout, Lease, Sequencer};

use crate::clock::Time;
use crate::config::{counted, unix_s};
use crate::form::{Ids, cipher};
use crate::status::{self, Status};
use crate::word::Word;
use crate::{Rf, horizon};

#[unsafe(no_mangle)]
extern "C" fn rf_renew(rf: &Rf) -> Status {
    status::of(renew(rf))
}

fn renew(rf: &Rf) -> Result<(), Status> {
    let setup = rf.setup().ok_or(status::NULL)?;
    let config = &setup.config;
    let time = Time { rf, setup };
    let now = time.now().ok_or(status::CLOCK_UNKNOWN)?;
    let tick = Ids::SPEC.tick_at(now).unwrap_or(0);
    let mut blocks = horizon::blocks(config.grant.lease()?, config);

    let has_former = rf.gate.is_open();
    if has_former {
        // SAFETY: it is in force, and nobody but this function replaces it.
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
    if !rf.gate.close() {
        return Err(status::BUSY);
    }
    let replaced = match blocks.begin(Some(now)) {
        Ok(lease) => rf.replace(lease),
        Err(error) => Err(error.into()),
    };
    // After a failure the former block stays in force, should the clock return to it.
    if replaced.is_ok() || has_former {
        rf.gate.open();
    }
    replaced
}

impl Rf {
    /// Puts a new block in place of the old one. Only for the caller that has closed the gate.
    pub(crate) fn replace(&self, lease: Lease<Ids>) -> Result<(), Status> {
        let block = MaybeUninit::new(Sequencer::new(counted(lease)?)?);
        // SAFETY: the gate is closed, so nobody issues from what was there.
        unsafe { self.block.get().write(block) };
        Ok(())
    }

    /// # Safety
    ///
    /// There is a block, and nobody replaces it as long as the reference lives.
    pub(crate) unsafe fn block(&self) -> &Sequencer<Ids, Word> {
        // SAFETY: nobody replaces it.
        let block = unsafe { &*self.block.get() };
        // SAFETY: there is one.
        unsafe { block.assume_init_ref() }
    }
}

#[unsafe(no_mangle)]
extern "C" fn rf_next(rf: &Rf, id: &mut MaybeUninit<u64>) -> Status {
    if !rf.gate.enter() {
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
    // SAFETY: the gate is open, and stays so until it is left.
    let block = unsafe { rf.block() };
    // SAFETY: `rf_init` comes before the first block.
    let setup = unsafe { rf.setup_written() };
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
extern "C" fn rf_inspect(rf: &Rf, id: u64) -> Parts {
    let none = || Codec::new(Ids, cipher(&[0; 16]));
    let id = Id::from_u64(id);
    let parts = match rf.setup() {
        Some(setup) => setup.codec.inspect(id),
        None => none().inspect(id),
    };
    Parts {
        unix_s: unix_s(parts.tick),
        node_id: parts.node_id,
        sequence: parts.sequence,
    }
}
