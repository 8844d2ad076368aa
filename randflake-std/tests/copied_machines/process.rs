//! The only process of an emulated machine: it issues ids, and writes them to a serial port.

#![expect(
    unsafe_code,
    reason = "what makes a machine of a kernel is system calls"
)]

use core::ffi::CStr;
use core::ptr;
use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, thread};

use libc::__c_anonymous_ifr_ifru as Setting;

use randflake_std::lease::open;
use randflake_std::{Handle, Secret};
use rustix::system::finit_module;
use rustix::time::{ClockId, Timespec, clock_settime};

use crate::image::{DRIVERS, RANDOM, SERIAL_PORT};
use crate::namespace;

/// Words of the kernel's command line, which it hands on in the environment.
const STORE: &str = "STORE";
const TTL_SECONDS: &str = "TTL_SECONDS";
const CLOCK: &str = "CLOCK";

/// The emulator's network has the machine here, and the host at 10.0.2.2.
const ADDRESS: [u8; 4] = [10, 0, 2, 15];
/// By how much the wall clock may be wrong until it is set.
const WRONG_SECONDS: u64 = 2;

/// What tells it from where it has its leases, and whether somebody sets its wall clock.
pub(crate) fn parameters(port: u16, ttl: Duration, clock: Clock) -> String {
    let seconds = ttl.as_secs();
    format!(
        "hostname=machine {STORE}=redis://10.0.2.2:{port} {TTL_SECONDS}={seconds} {CLOCK}={clock:?}"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// By the machine's clock, as a guest agent or NTP does.
    IsSet,
    /// Then it is late when the machine is resumed.
    IsLeft,
}

pub(crate) fn run() -> ! {
    let mut port = File::options().write(true).open(SERIAL_PORT).unwrap();
    for driver in DRIVERS {
        let driver = File::open(format!("/{driver}")).unwrap();
        finit_module(driver, c"", 0).unwrap();
    }
    start_network();
    mount_sysfs();
    let ttl = env::var(TTL_SECONDS).unwrap().parse().unwrap();
    let ttl = Duration::from_secs(ttl);
    let store = open(&env::var(STORE).unwrap(), &namespace(ttl)).unwrap();
    let secret = Secret::from_bytes([7; 16]);
    let ids = Handle::builder(&secret, store).ttl(ttl).build().unwrap();
    let is_set = env::var(CLOCK).unwrap() == format!("{:?}", Clock::IsSet);
    let (mut told, mut contested, mut is_over, mut trouble) = (None, 0, false, None);
    loop {
        if is_set {
            set_clock();
        }
        let status = ids.lease();
        if status.contested != contested {
            contested = status.contested;
            writeln!(port, "contested").unwrap();
        }
        if told != Some(status.leases[0]) {
            let lease = told.insert(status.leases[0]);
            let (node_id, start, end) = (lease.node_id(), lease.start(), lease.end());
            writeln!(port, "lease {node_id} {start} {end}").unwrap();
            reseed();
        }
        if status.remaining.is_zero() != is_over {
            is_over = !is_over;
            writeln!(port, "{}", if is_over { "over" } else { "anew" }).unwrap();
        }
        if status.last_error != trouble {
            trouble = status.last_error;
            writeln!(port, "trouble {trouble:?}").unwrap();
        }
        if let Ok(id) = ids.generate() {
            let node_id = ids.inspect(id).node_id;
            writeln!(port, "id {node_id} {}", id.to_u64()).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sets the wall clock by the machine's.
fn set_clock() {
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

/// Gives the kernel's random numbers a new start, so that the next ones are those of any copy too. A kernel does so by
/// itself once a minute, but every few seconds in its first two minutes.
fn reseed() {
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
    let [a, b, c, d] = ADDRESS.map(u8::cast_signed);
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
