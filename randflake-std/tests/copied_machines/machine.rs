//! An emulated machine.

use core::time::Duration;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::engines::program;
use crate::engines::server::spawn;
use crate::image::Image;
use crate::journal::Journal;

const EMULATOR: &str = "RANDFLAKE_QEMU";
/// It boots in five seconds, on a busy machine in more.
const PATIENCE: Duration = Duration::from_secs(120);

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
        let parameters = format!("quiet panic=-1 console=ttyS0 {}", image.parameters);
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

    /// Writes its whole state into a file, and ends it; what it wrote until then.
    pub(crate) fn save(mut self, state: &Path) -> Journal {
        let mut monitor = self.emulator.stdin.take().unwrap();
        // It does not run on behind that: "quit" is read afterwards.
        let migrate = format!("migrate \"exec:cat > {}\"", state.display());
        write!(monitor, "{migrate}\nquit\n").unwrap();
        let status = self.emulator.wait().unwrap();
        assert!(status.success(), "{status}\n{}", self.said());
        self.journal()
    }

    /// What it has written.
    pub(crate) fn journal(&self) -> Journal {
        let text = fs::read_to_string(self.folder.join("journal"));
        Journal::read(&text.unwrap_or_default())
    }

    /// Waits until its journal is as wanted.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Journal) -> bool) {
        let started = Instant::now();
        while !wanted(&self.journal()) {
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
            let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines: Vec<_> = text
                .lines()
                .filter(|line| !line.starts_with("id "))
                .collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        });
        texts.join("\n")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _gone_already = self.emulator.kill();
        let _gone_already = self.emulator.wait();
    }
}
