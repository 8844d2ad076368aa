//! The functions `rf_init` and `rf_provision`.

use core::mem::MaybeUninit;

use randflake_core::{Codec, Randflake, Sparx64OnTheFly};

use crate::config::Given;
use crate::status::{self, Status};
use crate::{Rf, Setup, horizon};

#[unsafe(no_mangle)]
extern "C" fn rf_init(rf: Option<&Rf>, config: Option<&Given>) -> Status {
    status::of(init(rf, config))
}

fn init(rf: Option<&Rf>, given: Option<&Given>) -> Result<(), Status> {
    let (Some(rf), Some(given)) = (rf, given) else {
        return Err(status::NULL);
    };
    let (key, config) = given.check()?;
    let config = config.without_what_was_used()?;
    if !rf.gate.close() {
        return Err(status::BUSY);
    }
    let setup = Setup {
        codec: Codec::new(Randflake, Sparx64OnTheFly::new(key)),
        config,
    };
    // SAFETY: the gate is closed, so `rf_next` does not look at it; the header keeps the others away.
    unsafe { rf.setup.get().write(MaybeUninit::new(setup)) };
    rf.gate.set_up();
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn rf_provision(config: Option<&Given>) -> Status {
    status::of(provision(config))
}

fn provision(given: Option<&Given>) -> Result<(), Status> {
    let (_, config) = given.ok_or(status::NULL)?.check()?;
    Ok(horizon::blocks(config.grant.lease()?, &config).provision()?)
}
