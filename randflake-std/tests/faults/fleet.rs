//! Processes that issue ids from one store.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_core::Codec;
use randflake_std::{Id, Plain};
use tempfile::TempDir;

use crate::engines::server::{signal_process, spawn};
use crate::issuer::{Few, Issuer, Order, assert_distinct, ids};

/// All processes that were ever started on a namespace, and what they have issued.
pub(crate) struct Fleet {
    folder: TempDir,
    url: String,
    namespace: String,
    outputs: Vec<PathBuf>,
}

impl Fleet {
    pub(crate) fn new(url: String, namespace: &str) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            url,
            namespace: namespace.to_owned(),
            outputs: Vec::new(),
        }
    }

    /// Another process, which issues for some time.
    pub(crate) fn start(&mut self, time: Duration) -> Holder {
        self.start_as(time, |_| {})
    }

    /// Another process, whose command is changed before it starts.
    pub(crate) fn start_as(&mut self, time: Duration, change: impl FnOnce(&mut Command)) -> Holder {
        let output = self
            .folder
            .path()
            .join(format!("ids-{}", self.outputs.len()));
        let mut command = Order::new(&self.url, &self.namespace, &output, time).command();
        change(&mut command);
        self.outputs.push(output.clone());
        Holder {
            issuer: Issuer(spawn(command).unwrap()),
            output,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for the processes that still run, and demands that no id of any was issued twice. How long
    /// before the end each of those last issued one, to the second.
    pub(crate) fn finish(self, running: Vec<Holder>) -> Vec<Duration> {
        let outputs = running.into_iter().map(|holder| {
            holder.issuer.succeeds();
            holder.output
        });
        let outputs: Vec<_> = outputs.collect();
        let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let issued = self.outputs.iter().filter(|output| output.exists());
        assert_distinct(issued.flat_map(|output| ids(output)).collect());
        let idle = outputs.iter().map(|output| match ids(output).last() {
            Some(&last) => {
                let last = Codec::<Few>::new(Plain).unix_ms(Id::from_u64(last));
                end.saturating_sub(Duration::from_millis(last))
            }
            None => Duration::MAX,
        });
        idle.collect()
    }
}

/// A process of a fleet; it is killed when it is dropped.
pub(crate) struct Holder {
    issuer: Issuer,
    output: PathBuf,
}

impl Holder {
    pub(crate) fn suspend(&self) {
        signal_process(&self.issuer.0, libc::SIGSTOP);
    }

    pub(crate) fn resume(&self) {
        signal_process(&self.issuer.0, libc::SIGCONT);
    }
}
