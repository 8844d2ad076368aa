//! The functions `rf_init` and `rf_provision`.

use core::mem::MaybeUninit;

use randflake_core::Codec;

use crate::config::{Config, RawConfig};
use crate::form::{Ids, cipher};
use crate::gate::{OPEN, SET_UP};
use crate::status::{self, Status};
use crate::{Rf, Setup, horizon};

// Another name with 53-bit ids, so that a program does not link with the other archive: see the
// header.
#[cfg_attr(not(feature = "bits53"), unsafe(no_mangle))]
#[cfg_attr(feature = "bits53", unsafe(export_name = "rf53_init"))]
extern "C" fn rf_init(rf: Option<&Rf>, config: Option<&RawConfig>) -> Status {
    status::of(init(rf, config))
}

fn init(rf: Option<&Rf>, config: Option<&RawConfig>) -> Result<(), Status> {
    let (Some(rf), Some(config)) = (rf, config) else {
        return Err(status::NULL);
    };
    rf.alone(|| {
        let (key, config) = config.check()?;
        let config = config.after_horizon()?;
        if !rf.gate.withdraw(SET_UP | OPEN) {
            return Err(status::BUSY);
        }
        set_up(rf, key, config);
        Ok(())
    })
}

/// Only for the call that has claimed the gate, and withdrawn `SET_UP` where it was there.
// Inlined: a configuration that is moved into a call is copied by `memcpy` on RISC-V.
#[expect(
    clippy::inline_always,
    reason = "`inline` alone leaves the call, and with it `memcpy`"
)]
#[inline(always)]
pub(crate) fn set_up(rf: &Rf, key: &[u8; 16], config: Config) {
    let setup = Setup {
        codec: Codec::new(Ids, cipher(key)),
        config,
    };
    // SAFETY: nobody is inside, and nobody enters.
    unsafe { rf.setup.get().write(MaybeUninit::new(setup)) };
    rf.gate.provide(SET_UP);
}

#[unsafe(no_mangle)]
extern "C" fn rf_provision(config: Option<&RawConfig>) -> Status {
    status::of(provision(config))
}

fn provision(config: Option<&RawConfig>) -> Result<(), Status> {
    let (_, config) = config.ok_or(status::NULL)?.check()?;
    Ok(horizon::blocks(config.grant.lease()?, &config).provision()?)
}
