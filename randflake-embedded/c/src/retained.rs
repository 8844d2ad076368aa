//! State of a block that survives a sleep in which RAM is lost: `rf_retain` and `rf_wake`.

use core::ptr::NonNull;

use randflake_core::RetainedMemory;

use crate::config::RawConfig;
use crate::gate::{OPEN, SET_UP};
use crate::status::{self, Status};
use crate::{Rf, horizon, init};

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
            init::set_up(rf, key, config.after_horizon()?);
            return Ok(());
        };
        init::set_up(rf, key, config.after(&rest));
        rf.replace(rest)?;
        rf.gate.provide(OPEN);
        Ok(())
    })
}
