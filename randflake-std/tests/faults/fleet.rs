//! Processes that issue ids from one store.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::engines::server::{signal_process, spawn};
use crate::issuer::{Issuer, Order, assert_distinct, ids};

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

    /// Waits for the processes that still run, and demands that no id of any was issued twice. How many
    /// each of those has issued.
    pub(crate) fn finish(self, running: Vec<Holder>) -> Vec<usize> {
        let outputs = running.into_iter().map(|holder| {
            holder.issuer.succeeds();
            holder.output
        });
        let issued = outputs.map(|output| ids(&output).len()).collect();
        let outputs = self.outputs.iter().filter(|output| output.exists());
        assert_distinct(outputs.flat_map(|output| ids(output)).collect());
        issued
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
