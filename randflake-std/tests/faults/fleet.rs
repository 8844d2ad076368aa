//! Processes that issue ids from one store.

use core::convert::identity;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::server::{signal_process, spawn};
use tempfile::TempDir;

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

    /// Another process, which issues for some time: longer if it has had no lease till then.
    pub(crate) fn start(&mut self, time: Duration) -> Holder {
        self.start_as(time, |_| {})
    }

    /// Another process, whose command is changed before it starts.
    pub(crate) fn start_as(&mut self, time: Duration, change: impl FnOnce(&mut Command)) -> Holder {
        self.spawn(Order::patient, time, change)
    }

    /// Another process, which may be refused for all its time.
    pub(crate) fn try_start(&mut self, time: Duration) -> Holder {
        self.try_start_as(time, |_| {})
    }

    pub(crate) fn try_start_as(
        &mut self,
        time: Duration,
        change: impl FnOnce(&mut Command),
    ) -> Holder {
        self.spawn(identity, time, change)
    }

    fn spawn(
        &mut self,
        patience: fn(Order) -> Order,
        time: Duration,
        change: impl FnOnce(&mut Command),
    ) -> Holder {
        let name = format!("ids-{}", self.outputs.len());
        let output = self.folder.path().join(name);
        let order = Order::new(&self.url, &self.namespace, &output, time);
        let mut command = patience(order).command();
        change(&mut command);
        self.outputs.push(output);
        Holder(Issuer(spawn(command).unwrap()))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for the processes that still run, and demands that no id of any was issued twice.
    pub(crate) fn finish(self, running: Vec<Holder>) {
        for holder in running {
            holder.0.succeeds();
        }
        let outputs = self.outputs.iter().filter(|output| output.exists());
        assert_distinct(outputs.flat_map(|output| ids(output)).collect());
    }
}

/// A process of a fleet; it is killed when it is dropped.
pub(crate) struct Holder(Issuer);

impl Holder {
    pub(crate) fn suspend(&self) {
        signal_process(&self.0.0, libc::SIGSTOP);
    }

    pub(crate) fn resume(&self) {
        signal_process(&self.0.0, libc::SIGCONT);
    }
}
