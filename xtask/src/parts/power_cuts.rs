//! A part of `qemu`: power is cut at any moment while a device issues ids past a horizon in its flash, again and again.

use core::hash::{BuildHasher as _, Hasher as _};
use core::time::Duration;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use crate::helpers::scratch::Scratch;

const BOOTS: usize = 110;
/// Size of the flash of QEMU's machine `virt`.
const FLASH_BYTES: usize = 32 << 20;
/// What it erases at once.
const PAGE_BYTES: usize = 256 << 10;
/// So many records of the first page are free, so that the other is begun while the test runs.
const FREE: usize = 100;
/// Power is cut within so many milliseconds of the boot.
const MOST_MS: u64 = 100;
/// An emulator that has said nothing by then hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many ids the boots issued, or what was wrong.
pub(crate) fn run(emulator: &Path, image: &Path) -> Result<usize, String> {
    let scratch = Scratch::new("power-cuts").map_err(|error| error.to_string())?;
    let flash = scratch.path().join("flash");
    fs::write(&flash, used_flash()).map_err(|error| error.to_string())?;
    let mut ids = HashSet::new();
    for boot in 1..=BOOTS {
        for id in ids_until_cut(emulator, image, &flash)? {
            if !ids.insert(id.clone()) {
                return Err(format!("boot {boot} repeats the id {id}"));
            }
        }
    }
    let other_page = fs::read(&flash).map_err(|error| error.to_string())?;
    if other_page.get(PAGE_BYTES..PAGE_BYTES + 8) == Some(&[0xff; 8]) {
        return Err(format!("{} ids, and the page was never turned", ids.len()));
    }
    Ok(ids.len())
}

/// A flash whose first page is nearly full of horizons, 4 s apart: see `HorizonRecord`.
fn used_flash() -> Vec<u8> {
    const EPOCH_UNIX_S: u32 = 1_730_000_000;
    let mut flash = Vec::with_capacity(FLASH_BYTES);
    for horizon in (EPOCH_UNIX_S..).step_by(4).take(PAGE_BYTES / 8 - 1 - FREE) {
        flash.extend(record(horizon));
        if horizon == EPOCH_UNIX_S {
            // The seal of this version.
            flash.extend(record(4));
        }
    }
    flash.resize(FLASH_BYTES, 0xff);
    flash
}

fn record(horizon: u32) -> [u8; 8] {
    let word = horizon | horizon.count_ones() & 1;
    (u64::from(word) | u64::from(!word) << 32).to_le_bytes()
}

/// What a boot says until it is killed.
fn ids_until_cut(emulator: &Path, image: &Path, flash: &Path) -> Result<Vec<String>, String> {
    let flash = format!("if=pflash,unit=1,format=raw,file={}", flash.display());
    let mut child = Command::new(emulator)
        .args(["-M", "virt", "-cpu", "rv32", "-nographic", "-monitor"])
        .args(["none", "-serial", "none", "-drive", &flash])
        .args(["-semihosting-config", "enable=on,target=native"])
        // With a flash, `-kernel` would leave the image for a boot loader to start.
        .arg("-bios")
        .arg(image)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let Some(output) = child.stdout.take() else {
        return Err("no output".to_owned());
    };
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        // The last line may be cut too.
        while output.read_line(&mut line).is_ok() && line.ends_with('\n') {
            // Nobody listens any more after a boot that has failed.
            _ = sender.send(line.trim_end().to_owned());
            line.clear();
        }
    });
    let booted = receiver.recv_timeout(PATIENCE);
    if booted.is_ok() {
        let random = RandomState::new().build_hasher().finish();
        thread::sleep(Duration::from_millis(random % MOST_MS));
    }
    _ = child.kill();
    _ = child.wait();
    _ = reader.join();
    match booted.as_deref() {
        Ok("boot") => {
            let ids = receiver.iter();
            ids.map(|line| {
                let id = line.strip_prefix("id ").map(str::to_owned);
                id.ok_or(format!("the image said {line}"))
            })
            .collect()
        }
        other => Err(format!("did not boot: {other:?}")),
    }
}
