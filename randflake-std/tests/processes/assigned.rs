//! One process with an assigned node id, killed over and over.

use core::time::Duration;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use libtest_mimic::Failed;
use randflake_std::ExactSystemClock;
use randflake_std::lease::{AcquireRequest, Grant, NodeIdSource, NodeIds, StaticStore, Token};
use randflake_std::randflake_core::{Clock, ManualClock};

use crate::issuer::{Order, assert_distinct, ids, namespace};

const KILLS: usize = 4;
const NODE: u32 = 7;
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "assigned";

pub(crate) fn killed_and_restarted() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("node");
    use_a_minute_ago(&path)?;
    let url = format!("static:{}?node={NODE}", path.display());
    let mut all = Vec::new();
    for process in 0..KILLS {
        let output = folder.path().join(process.to_string());
        let order = Order::new(&url, NAMESPACE, &output, Duration::from_secs(60));
        let mut issuer = order.start();
        // The lease of the one before has to end first.
        let started = Instant::now();
        let has_issued = || fs::metadata(&output).is_ok_and(|output| output.len() > 0);
        while !has_issued() && started.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        issuer.0.kill()?; // SIGKILL
        issuer.0.wait()?;
        let found = ids(&output);
        if found.is_empty() {
            return Err(format!("process {process} issued nothing").into());
        }
        all.extend(found);
    }
    assert_distinct(all);
    Ok(())
}

/// A new file would let the first process wait.
fn use_a_minute_ago(path: &std::path::Path) -> Result<(), Failed> {
    let now = ExactSystemClock.now().ok_or("no time")?;
    let ago = u64::try_from(now.as_millis())? - 60_000;
    let source = NodeIdSource::Given(NODE);
    let clock = Arc::new(ManualClock::at_unix_ms(ago));
    let mut store = StaticStore::open_with_clock(path, source, &namespace(NAMESPACE), clock)?;
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random()?,
        holder: "before",
        nodes: NodeIds::Any(1),
        ttl: 1,
    })?;
    let grant = acquired.grants[0];
    let unused = Grant {
        end: grant.start,
        ..grant
    };
    Ok(store.release(&[unused])?)
}
