//! Beginnings: `rf_provision` in the factory, `rf_init` at a boot; and `rf_retain` and `rf_wake`,
//! by which a block survives a sleep in which RAM is lost.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use randflake_core::{Codec, RetainedMemory};

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
        let (key, checked) = config.check()?;
        let config = checked.after_horizon()?;
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

/// Five words of the program that survive the sleep, after a wake.
struct Words(NonNull<u32>);

impl RetainedMemory for Words {
    fn read(&self) -> Option<[u32; 5]> {
        // Volatile: registers of the chip, or RAM that another boot has written. One by one, as
        // loops over arrays would call `memcpy` and `memset`. SAFETY: the header asks for five
        // words.
        let word = |at| unsafe { self.0.as_ptr().wrapping_add(at).read_volatile() };
        Some([word(0), word(1), word(2), word(3), word(4)])
    }

    fn write(&mut self, words: [u32; 5]) {
        // SAFETY: as for `read`.
        let put = |at, word| unsafe { self.0.as_ptr().wrapping_add(at).write_volatile(word) };
        let [node_id, low, high, ticks, check] = words;
        put(0, node_id);
        put(1, low);
        put(2, high);
        put(3, ticks);
        put(4, check);
    }
}

#[unsafe(no_mangle)]
extern "C" fn rf_retain(rf: Option<&Rf>, words: Option<NonNull<u32>>) -> Status {
    status::of(retain(rf, words))
}

fn retain(rf: Option<&Rf>, words: Option<NonNull<u32>>) -> Result<(), Status> {
    let (Some(rf), Some(words)) = (rf, words) else {
        return Err(status::NULL);
    };
    let mut words = Words(words);
    rf.alone(|| {
        if !rf.gate.has(SET_UP) {
            return Err(status::NULL);
        }
        let has_block = rf.gate.has(OPEN);
        if !rf.gate.withdraw(OPEN) {
            return Err(status::BUSY);
        }
        if has_block {
            // SAFETY: it was in force, and the gate is claimed.
            unsafe { rf.block() }.retain(&mut words);
        } else {
            words.write([0; 5]);
        }
        Ok(())
    })
}

#[cfg_attr(not(feature = "bits53"), unsafe(no_mangle))]
#[cfg_attr(feature = "bits53", unsafe(export_name = "rf53_wake"))]
extern "C" fn rf_wake(
    rf: Option<&Rf>,
    config: Option<&RawConfig>,
    words: Option<NonNull<u32>>,
) -> Status {
    status::of(wake(rf, config, words))
}

fn wake(
    rf: Option<&Rf>,
    config: Option<&RawConfig>,
    words: Option<NonNull<u32>>,
) -> Result<(), Status> {
    let (Some(rf), Some(config), Some(words)) = (rf, config, words) else {
        return Err(status::NULL);
    };
    rf.alone(|| {
        let (key, config) = config.check()?;
        if rf.gate.has(SET_UP) {
            return Err(status::BUSY);
        }
        let rest = horizon::blocks(config.grant.lease()?, &config).resume(&mut Words(words));
        let Some(rest) = rest else {
            set_up(rf, key, config.after_horizon()?);
            return Ok(());
        };
        set_up(rf, key, config.after(&rest));
        rf.replace(rest)?;
        rf.gate.provide(OPEN);
        Ok(())
    })
}
