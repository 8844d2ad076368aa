//! The life of a pod of a `StatefulSet`: killed over and over, moved, its volume lost, or restored
//! from a copy. One process at a time has the node id.

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use libtest_mimic::Failed;
use randflake_std::lease::{NodeIdSource, StaticStore};
use tempfile::TempDir;

use crate::issuer::{Issuer, Order, TTL, assert_distinct, ids, namespace};

const NODE: u32 = 7;
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "assigned";
/// The longest TTL and twice the skew, in whole ticks: how long a file waits that is new, or not
/// the one that it was.
const QUARANTINE: Duration = Duration::from_secs(23);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(10);

/// A volume, and all that was issued by those who had it.
struct Pod {
    root: TempDir,
    volume: PathBuf,
    issued: Vec<u64>,
    starts: usize,
}

impl Pod {
    /// With a volume whose file was declared new.
    fn new() -> Result<Self, Failed> {
        let root = tempfile::tempdir()?;
        let volume = root.path().join("volume");
        fs::create_dir(&volume)?;
        let pod = Self {
            root,
            volume,
            issued: Vec::new(),
            starts: 0,
        };
        let source = NodeIdSource::Given(NODE);
        StaticStore::open(pod.file(), source, &namespace(NAMESPACE))?
            .administration()
            .end_quarantine()?;
        Ok(pod)
    }

    fn file(&self) -> PathBuf {
        self.volume.join("node")
    }

    /// Starts a process, kills it once it has issued, and says how long that took.
    fn start_and_kill(&mut self) -> Result<Duration, Failed> {
        let url = format!("static:{}?node=pod", self.file().display());
        let output = self.root.path().join(self.starts.to_string());
        self.starts += 1;
        let mut command = Order::new(&url, NAMESPACE, &output, PATIENCE).command();
        let started = Instant::now();
        let mut process = Issuer(command.env("POD_NAME", format!("web-{NODE}")).spawn()?);
        let has_issued = || fs::metadata(&output).is_ok_and(|output| output.len() > 0);
        while !has_issued() && started.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        let waited = started.elapsed();
        process.0.kill()?; // SIGKILL
        process.0.wait()?;
        let found = ids(&output);
        if found.is_empty() {
            return Err(format!("start {} issued nothing", self.starts).into());
        }
        self.issued.extend(found);
        Ok(waited)
    }

    /// A start that waits for nothing but the lease of a process that was killed.
    fn starts_soon(&mut self) -> Result<(), Failed> {
        let waited = self.start_and_kill()?;
        assert!(waited < TTL + SLACK, "{waited:?}");
        Ok(())
    }

    /// A start that waits for whatever the file may have forgotten.
    fn starts_late(&mut self) -> Result<(), Failed> {
        let waited = self.start_and_kill()?;
        let least = QUARANTINE.saturating_sub(Duration::from_secs(1));
        assert!((least..QUARANTINE + SLACK).contains(&waited), "{waited:?}");
        Ok(())
    }

    fn end(self) {
        assert_distinct(self.issued);
    }
}

pub(crate) fn killed_and_restarted() -> Result<(), Failed> {
    let mut pod = Pod::new()?;
    for _ in 0..4 {
        pod.starts_soon()?;
    }
    pod.end();
    Ok(())
}

/// It is the same file under another path, as on another machine that its volume was attached to.
pub(crate) fn moved() -> Result<(), Failed> {
    let mut pod = Pod::new()?;
    pod.starts_soon()?;
    let elsewhere = pod.root.path().join("elsewhere");
    fs::rename(&pod.volume, &elsewhere)?;
    pod.volume = elsewhere;
    pod.starts_soon()?;
    pod.end();
    Ok(())
}

pub(crate) fn volume_lost() -> Result<(), Failed> {
    let mut pod = Pod::new()?;
    pod.starts_soon()?;
    fs::remove_file(pod.file())?;
    pod.starts_late()?;
    pod.end();
    Ok(())
}

/// From before what the last process has issued.
pub(crate) fn restored() -> Result<(), Failed> {
    let mut pod = Pod::new()?;
    let copy = pod.root.path().join("copy");
    fs::copy(pod.file(), &copy)?;
    pod.starts_soon()?;
    fs::remove_file(pod.file())?;
    fs::copy(&copy, pod.file())?;
    pod.starts_late()?;
    pod.end();
    Ok(())
}
