//! Duties of a program that is a machine's only one, and has no more than a kernel.

#![expect(unsafe_code, reason = "most of it is system calls")]

use core::ffi::CStr;
use core::ptr;
use std::fs::{self, File};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

use libc::__c_anonymous_ifr_ifru as Setting;
use rustix::system::finit_module;
use rustix::time::{ClockId, Timespec, clock_settime};

use crate::image::{DRIVERS, RANDOM};

/// What the emulator's network has at fixed addresses.
pub(crate) const HOST: &str = "10.0.2.2";
const MACHINE: [u8; 4] = [10, 0, 2, 15];
/// By how much the wall clock may be wrong until it is set.
const WRONG_SECONDS: u64 = 2;

pub(crate) fn start() {
    for driver in DRIVERS {
        let driver = File::open(format!("/{driver}")).unwrap();
        finit_module(driver, c"", 0).unwrap();
    }
    start_network();
    mount_sysfs();
    // The kernel has estimated the time that it took to boot.
    set_clock();
}

/// Sets the wall clock by the machine's.
pub(crate) fn set_clock() {
    let text = fs::read_to_string("/sys/class/rtc/rtc0/since_epoch").unwrap();
    let seconds = text.trim().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    if now.as_secs().abs_diff(seconds) > WRONG_SECONDS {
        let time = Timespec {
            tv_sec: seconds.cast_signed(),
            tv_nsec: 0,
        };
        clock_settime(ClockId::Realtime, time).unwrap();
    }
}

/// Gives the kernel's random numbers a new start, so that the next ones are those of any copy too.
/// A kernel does so by itself once a minute, but every few seconds in its first two minutes.
pub(crate) fn reseed() {
    const RNDRESEEDCRNG: libc::Ioctl = 0x5207;

    let random = File::open(RANDOM).unwrap();
    // SAFETY: the request takes nothing.
    let done = unsafe { libc::ioctl(random.as_raw_fd(), RNDRESEEDCRNG) };
    assert_eq!(done, 0, "{RANDOM}: {}", io::Error::last_os_error());
}

fn mount_sysfs() {
    let [name, place] = [c"sysfs", c"/sys"].map(CStr::as_ptr);
    // SAFETY: these strings are there for ever, and this file system takes no data.
    let done = unsafe { libc::mount(name, place, name, 0, ptr::null()) };
    assert_eq!(done, 0, "mount: {}", io::Error::last_os_error());
}

/// Gives the first network card its address, and turns it on.
fn start_network() {
    let [a, b, c, d] = MACHINE.map(u8::cast_signed);
    let address = libc::sockaddr {
        sa_family: u16::try_from(libc::AF_INET).unwrap(),
        // Behind a port.
        sa_data: [0, 0, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    let up = libc::c_short::try_from(libc::IFF_UP).unwrap();
    set_card(libc::SIOCSIFADDR, Setting { ifru_addr: address });
    set_card(libc::SIOCSIFFLAGS, Setting { ifru_flags: up });
}

fn set_card(what: libc::Ioctl, setting: Setting) {
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: setting,
    };
    for (to, from) in request.ifr_name.iter_mut().zip(b"eth0") {
        *to = from.cast_signed();
    }
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: both requests read one `ifreq`, which is whole.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw const request) };
    assert_eq!(done, 0, "eth0: {}", io::Error::last_os_error());
}
