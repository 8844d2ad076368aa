//! One process of a server.

use core::time::Duration;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;
use std::{io, thread};

use tempfile::TempDir;

/// How long a server may take until it answers. A busy machine is slow.
const START_LIMIT: Duration = Duration::from_secs(60);
const START_PAUSE: Duration = Duration::from_millis(20);

/// A server in a folder of its own. It is killed, and the folder removed, when it is dropped; it
/// does not outlive the test program either, if that is killed.
pub struct Server {
    /// None while it is down.
    child: Option<Child>,
    command: Box<dyn Fn(&Path) -> Command + Send + Sync>,
    answers: Box<dyn Fn() -> bool + Send + Sync>,
    folder: TempDir,
}

impl Server {
    /// Starts the command that is made for the folder, and waits until it answers.
    pub fn start(
        folder: TempDir,
        command: impl Fn(&Path) -> Command + Send + Sync + 'static,
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let mut server = Self::prepared(folder, command, answers);
        server.launch();
        server.wait();
        server
    }

    /// One that is not started yet.
    pub fn prepared(
        folder: TempDir,
        command: impl Fn(&Path) -> Command + Send + Sync + 'static,
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            child: None,
            command: Box::new(command),
            answers: Box::new(answers),
            folder,
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Process id. It panics while the server is down.
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Starts it again, in the same folder and on the same ports, and waits until it answers.
    pub fn restart(&mut self) {
        self.kill();
        self.launch();
        self.wait();
    }

    /// Starts it without waiting: some answer only when others have started too.
    pub fn launch(&mut self) {
        let mut command = (self.command)(self.folder.path());
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("server.log"))
            .unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.child = Some(spawn(command).unwrap());
    }

    pub fn wait(&mut self) {
        let started = Instant::now();
        while !(self.answers)() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            let problem = match ended {
                Some(status) => format!("ended: {status}"),
                None if started.elapsed() > START_LIMIT => "does not answer".to_owned(),
                None => {
                    thread::sleep(START_PAUSE);
                    continue;
                }
            };
            let log = fs::read_to_string(self.folder.path().join("server.log"));
            panic!("the server {problem}\n{}", log.unwrap_or_default());
        }
    }

    /// Kills the process, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal(libc::SIGTERM);
        self.child.take().unwrap().wait().unwrap()
    }

    /// Stops it as it stands, until `resume`.
    pub fn suspend(&self) {
        self.signal(libc::SIGSTOP);
    }

    pub fn resume(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: libc::c_int) {
        signal_process(self.child.as_ref().unwrap(), signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal to a child that was not waited for.
#[expect(unsafe_code, reason = "sending a signal is a system call")]
pub fn signal_process(child: &Child, signal: libc::c_int) {
    // SAFETY: it touches no memory; the process was not waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// Starts a process that the kernel kills when this one ends.
///
/// That comes with the end of the *thread* that started it, so one thread starts all, and never
/// ends.
pub fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static STARTER: OnceLock<Sender<Order>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                die_with_parent(&mut command);
                let _nobody_waits = reply.send(command.spawn());
            }
        });
        orders
    });
    let (reply, child) = channel();
    starter.send((command, reply)).unwrap();
    child.recv().unwrap()
}

/// The processes that work in a folder or below: a server that was killed leaves some for a moment.
pub fn working_in(folder: &Path) -> Vec<libc::pid_t> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = processes.filter(|process| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|place| place.starts_with(folder))
    });
    found
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .collect()
}

/// `kill -9` of a process that is not this one's child. It may have ended meanwhile.
#[expect(unsafe_code, reason = "sending a signal is a system call")]
pub fn kill(process: libc::pid_t) {
    // SAFETY: it touches no memory.
    let _gone_already = unsafe { libc::kill(process, libc::SIGKILL) };
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only the child can ask for it")]
fn die_with_parent(command: &mut Command) {
    let ask = || {
        // SAFETY: the call takes numbers alone.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call, which may be made between fork and exec.
    unsafe { command.pre_exec(ask) };
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}
