//! Holders whose wall clocks are wrong and jump while they issue, and holders that are suspended.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use libtest_mimic::Failed;

use crate::issuer::{Issuer, Order, TTL, assert_distinct, ids};

/// The path of libfaketime's library.
const LIBFAKETIME: &str = "RANDFLAKE_LIBFAKETIME";

fn libfaketime() -> Result<OsString, Failed> {
    let library = std::env::var_os(LIBFAKETIME);
    library.ok_or_else(|| format!("set {LIBFAKETIME} to the path of libfaketime.so.1").into())
}

pub(crate) fn an_hour_apart() -> Result<(), Failed> {
    let library = libfaketime()?;
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("leases.db").display());
    let path = |name: String| directory.path().join(name);
    let time = TTL * 5;

    // Each process has a file that says how far off its wall clock is.
    let seats: Vec<(PathBuf, PathBuf)> = (0..6)
        .map(|n| (path(format!("ids-{n}")), path(format!("offset-{n}"))))
        .collect();
    let start = |(output, offset): &(PathBuf, PathBuf)| {
        let order = Order::new(&store, "test", output, time).patient();
        let mut command = order.command();
        Issuer(
            with_wall_clock(&mut command, &library, offset)
                .spawn()
                .unwrap(),
        )
    };
    for ((_, offset), hours) in seats.iter().zip([0, 0, 1, -1, 1, -1]) {
        set_wall_clock(offset, hours);
    }
    let mut processes: Vec<_> = seats[..4].iter().map(start).collect();
    thread::sleep(TTL);
    // Two jump, in the middle of their leases, and jump back one lease later.
    set_wall_clock(&seats[0].1, 1);
    set_wall_clock(&seats[1].1, -1);
    thread::sleep(TTL);
    processes.extend(seats[4..].iter().map(start));
    thread::sleep(TTL);
    set_wall_clock(&seats[0].1, -1);
    set_wall_clock(&seats[1].1, 0);

    processes.into_iter().for_each(Issuer::succeeds);
    assert_distinct(seats.iter().flat_map(|(output, _)| ids(output)).collect());
    Ok(())
}

fn with_wall_clock<'a>(
    command: &'a mut Command,
    library: &OsStr,
    offset: &Path,
) -> &'a mut Command {
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", offset)
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
}

fn set_wall_clock(offset: &Path, hours: i32) {
    // A reader must never see half a file.
    let new = offset.with_extension("new");
    fs::write(&new, format!("{:+}s\n", hours * 3600)).unwrap();
    fs::rename(new, offset).unwrap();
}

pub(crate) fn longer_than_the_lease() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("leases.db").display());
    let outputs: Vec<_> = (0..4)
        .map(|n| directory.path().join(format!("ids-{n}")))
        .collect();
    let time = TTL * 5;
    let processes: Vec<_> = outputs
        .iter()
        .map(|output| Order::new(&store, "test", output, time).patient().start())
        .collect();

    thread::sleep(TTL / 2);
    let suspended = &processes[..2];
    for process in suspended {
        signal(process, libc::SIGSTOP);
    }
    thread::sleep(TTL * 2);
    // A process that starts now may get a suspended one's node id.
    let late_output = directory.path().join("ids-late");
    let late = Order::new(&store, "test", &late_output, time)
        .patient()
        .start();
    thread::sleep(TTL / 2);
    for process in suspended {
        signal(process, libc::SIGCONT);
    }

    processes
        .into_iter()
        .chain([late])
        .for_each(Issuer::succeeds);
    let outputs = outputs.iter().chain([&late_output]);
    assert_distinct(outputs.flat_map(|output| ids(output)).collect());
    Ok(())
}

#[expect(unsafe_code, reason = "sending a signal is a system call")]
pub(crate) fn signal(process: &Issuer, signal: libc::c_int) {
    // SAFETY: the process is a child that was not waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(process.id(), signal) }, 0);
}
