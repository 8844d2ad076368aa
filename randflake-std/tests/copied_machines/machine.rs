//! An emulated machine that can be copied.

use core::time::Duration;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use harness::program;
use harness::server::spawn;

use crate::image::Image;
use crate::journal::Journal;

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
        // No timer that the kernel would compare with another first: on a busy machine that comparison is wrong.
        let timers = "no_timer_check nolapic_timer clocksource=hpet";
        let parameters = format!("quiet panic=-1 console=ttyS0 {timers}");
        let parameters = format!("{parameters} {}", image.parameters);
        let mut command = Command::new(program(EMULATOR));
        fs::create_dir(&folder).unwrap();
        command
            // An emulated processor is the same everywhere, and there where this machine is emulated too.
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
            let lines = text.lines().filter(|line| !line.starts_with("id "));
            let lines: Vec<_> = lines.collect();
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
