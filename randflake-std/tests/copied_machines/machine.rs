//! An emulated machine that can be copied, and the only process that runs on it.

use core::time::Duration;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::Instant;
use std::{env, thread};

use harness::program;
use harness::server::spawn;
use randflake_std::lease::open;
use randflake_std::{Handle, Secret};

use crate::image::{Image, SERIAL_PORT};
use crate::journal::Journal;
use crate::namespace;
use crate::system::{self, HOST};

const EMULATOR: &str = "RANDFLAKE_QEMU";
/// It boots in five seconds, on a busy machine in more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// It is killed when it is dropped, and does not outlive the test.
pub(crate) struct Machine {
    emulator: Child,
    folder: PathBuf,
}

impl Machine {
    /// Boots one, which keeps what it writes in a new folder.
    pub(crate) fn boot(image: &Image, folder: PathBuf) -> Self {
        Self::start(image, folder, &[])
    }

    /// Resumes one from a saved state.
    pub(crate) fn resume(image: &Image, folder: PathBuf, state: &Path) -> Self {
        let from = format!("exec:cat {}", state.display());
        Self::start(image, folder, &["-incoming", &from])
    }

    fn start(image: &Image, folder: PathBuf, options: &[&str]) -> Self {
        // No timer that the kernel would compare with another first: on a busy machine that
        // comparison is wrong.
        let timers = "no_timer_check nolapic_timer clocksource=hpet";
        let parameters = format!("quiet panic=-1 console=ttyS0 {timers}");
        let parameters = format!("{parameters} {}", image.parameters);
        let mut command = Command::new(program(EMULATOR));
        fs::create_dir(&folder).unwrap();
        command
            // An emulated processor is the same everywhere, and there where this machine is
            // emulated too.
            .args(["-M", "pc,accel=tcg", "-m", "256", "-display", "none"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-netdev", "user,id=net"])
            .args(["-device", "virtio-net-pci,netdev=net,romfile="])
            .args(["-serial", "file:console", "-serial", "file:journal"])
            .args(["-monitor", "stdio", "-append", &parameters])
            .arg("-kernel")
            .arg(&image.kernel)
            .arg("-initrd")
            .arg(&image.archive)
            .args(options)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(File::create(folder.join("monitor")).unwrap());
        let emulator = spawn(command).unwrap();
        Self { emulator, folder }
    }

    /// Stops it, and writes its whole state into a file.
    pub(crate) fn save(&mut self, state: &Path) {
        self.order(&format!(
            "migrate \"exec:cat > {}\"\ninfo status\n",
            state.display()
        ));
        let told = self.wait_for(|machine| {
            let said = machine.read("monitor");
            let (_, status) = said.rsplit_once("VM status: ")?;
            Some(status.starts_with("paused (postmigrate)"))
        });
        assert!(told, "the state was not saved\n{}", self.said());
    }

    /// It goes on after it was saved.
    pub(crate) fn go_on(&self) {
        self.order("cont\n");
    }

    fn order(&self, orders: &str) {
        let mut monitor = self.emulator.stdin.as_ref().unwrap();
        monitor.write_all(orders.as_bytes()).unwrap();
    }

    /// What it has written.
    pub(crate) fn journal(&self) -> Journal {
        Journal::read(&self.read("journal"))
    }

    /// Waits until its journal is as wanted.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Journal) -> bool) {
        self.wait_for(|machine| wanted(&machine.journal()).then_some(()));
    }

    fn wait_for<T>(&mut self, found: impl Fn(&Self) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let ended = self.emulator.try_wait().unwrap();
            assert_eq!(ended, None, "the machine has ended\n{}", self.said());
            let is_late = started.elapsed() > PATIENCE;
            assert!(!is_late, "nothing for {PATIENCE:?}\n{}", self.said());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What kernel and emulator say, for a failure's message.
    fn said(&self) -> String {
        let texts = ["console", "monitor", "journal"].map(|name| {
            let text = self.read(name);
            let lines: Vec<_> = text
                .lines()
                .filter(|line| !line.starts_with("id "))
                .collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        });
        texts.join("\n")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _gone_already = self.emulator.kill();
        let _gone_already = self.emulator.wait();
    }
}

/// Where a process of this machine writes, which stands for the emulated one in the short form of
/// the test.
const JOURNAL: &str = "COPIES_JOURNAL";

/// Words of the kernel's command line, which it hands on in the environment.
const STORE: &str = "STORE";
const TTL_SECONDS: &str = "TTL_SECONDS";
const CLOCK: &str = "CLOCK";

/// What tells it from where it has its leases, and whether somebody sets its wall clock.
pub(crate) fn parameters(port: u16, ttl: Duration, clock: Clock) -> String {
    let seconds = ttl.as_secs();
    format!(
        "hostname=machine {STORE}=redis://{HOST}:{port} {TTL_SECONDS}={seconds} {CLOCK}={clock:?}"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// By the machine's clock, as a guest agent or NTP does.
    IsSet,
    /// Then it is late when the machine is resumed.
    IsLeft,
}

/// The same program as a process of this machine.
pub(crate) fn command(url: &str, ttl: Duration, journal: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .env(JOURNAL, journal)
        .env(STORE, url)
        .env(TTL_SECONDS, ttl.as_secs().to_string())
        .env(CLOCK, format!("{:?}", Clock::IsLeft));
    command
}

/// Whether this is the emulated machine's only process, or stands for it.
pub(crate) fn is_this() -> bool {
    process::id() == 1 || env::var_os(JOURNAL).is_some()
}

pub(crate) fn run() -> ! {
    let journal = env::var(JOURNAL);
    let path = journal.as_deref().unwrap_or(SERIAL_PORT);
    let mut port = File::options()
        .create(journal.is_ok())
        .append(journal.is_ok())
        .write(true)
        .open(path)
        .unwrap();
    if journal.is_err() {
        system::start();
    }
    let ttl = env::var(TTL_SECONDS).unwrap().parse().unwrap();
    let ttl = Duration::from_secs(ttl);
    let store = open(&env::var(STORE).unwrap(), &namespace(ttl)).unwrap();
    let secret = Secret::from_bytes([7; 16]);
    let ids = Handle::builder(&secret, store).ttl(ttl).build().unwrap();
    let is_set = env::var(CLOCK).unwrap() == format!("{:?}", Clock::IsSet);
    let (mut told, mut contested, mut is_over, mut trouble) = (None, 0, false, None);
    loop {
        if is_set {
            system::set_clock();
        }
        let status = ids.lease();
        if status.losses.contested != contested {
            contested = status.losses.contested;
            writeln!(port, "contested").unwrap();
        }
        if told != Some(status.leases[0]) {
            let lease = told.insert(status.leases[0]);
            let (node_id, start, end) = (lease.node_id(), lease.start(), lease.end());
            writeln!(port, "lease {node_id} {start} {end}").unwrap();
            if journal.is_err() {
                system::reseed();
            }
        }
        if status.remaining.is_zero() && !is_over {
            writeln!(port, "over").unwrap();
        }
        is_over = status.remaining.is_zero();
        let error = status.last_error.map(|error| error.to_string());
        if error != trouble {
            trouble = error;
            writeln!(port, "trouble {trouble:?}").unwrap();
        }
        if let Ok(id) = ids.generate() {
            let node_id = ids.inspect(id).node_id;
            writeln!(port, "id {node_id} {}", id.to_u64()).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}
