//! The worker and its queue.

#![cfg(unix)]

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};

use randflake_std::Randflake;
use randflake_std::lease::{Namespace, SqliteStore};
use tempfile::TempDir;

struct Worker {
    child: Child,
    queue: TcpStream,
    folder: TempDir,
}

impl Worker {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let key = folder.path().join("randflake.key");
        fs::write(&key, "dffd6021bb2bd5b0af676290809ec3a5").unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let leases = folder.path().join("leases.db");
        let child = Command::new(env!("CARGO_BIN_EXE_worker"))
            .env("QUEUE", listener.local_addr().unwrap().to_string())
            .env("RANDFLAKE_STORE", format!("sqlite:{}", leases.display()))
            .env("WORKER_KEY_FILE", key)
            .spawn()
            .unwrap();
        let (queue, _) = listener.accept().unwrap();
        Self {
            child,
            queue,
            folder,
        }
    }

    /// The ids of so many jobs.
    fn ids(&self, jobs: usize) -> HashSet<String> {
        for job in 0..jobs {
            writeln!(&self.queue, "job {job}").unwrap();
        }
        let answers = BufReader::new(&self.queue).lines().take(jobs);
        let ids = answers.map(|line| line.unwrap().split_once(" job ").unwrap().0.to_owned());
        ids.collect()
    }

    /// It ends well, and has given its node id back.
    fn ends(&mut self) {
        assert!(self.child.wait().unwrap().success());
        let namespace = Namespace::new("jobs", Randflake).unwrap();
        let path = self.folder.path().join("leases.db");
        let mut store = SqliteStore::open(path, &namespace).unwrap();
        let records = store.list().unwrap();
        let ticks = records
            .iter()
            .map(|record| record.grant.end - record.grant.start);
        assert_eq!(records.len(), 1);
        assert!(ticks.sum::<u64>() < 60, "{records:?}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

#[test]
fn every_job_of_the_queue_has_its_own_id() {
    let mut worker = Worker::start();
    assert_eq!(worker.ids(100).len(), 100);
    worker.queue.shutdown(Shutdown::Write).unwrap();
    worker.ends();
}

#[test]
#[expect(unsafe_code, reason = "sending a signal is a system call")]
fn stopped_worker_gives_its_node_id_back() {
    let mut worker = Worker::start();
    assert_eq!(worker.ids(1).len(), 1);
    let process = worker.child.id().cast_signed();
    // SAFETY: it touches no memory; the process was not waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(process, libc::SIGTERM) }, 0);
    worker.ends();
}
