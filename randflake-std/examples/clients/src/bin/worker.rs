//! A worker with tokio: it takes jobs from a queue, many at a time, and writes each with an id of its own.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Id, Randflake, Secret};
use rusqlite::Connection;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::spawn_blocking;

const AT_ONCE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(2);

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = PathBuf::from(env::var("DATA")?);
    let (queue, jobs) = channel(AT_ONCE);
    let worker = tokio::spawn(work(folder, jobs));
    for number in 0..1_000 {
        queue.send(format!("job {number}")).await?;
    }
    drop(queue);
    println!("{} jobs are written", worker.await??);
    Ok(())
}

/// Ends with the queue.
async fn work(folder: PathBuf, mut jobs: Receiver<String>) -> Result<usize, Failure> {
    // What asks the store or the disk blocks its thread: not one of the runtime's.
    let (ids, mut rows) = spawn_blocking(move || open(&folder)).await??;
    let mut written = 0;
    loop {
        let mut batch = Vec::with_capacity(AT_ONCE);
        if jobs.recv_many(&mut batch, AT_ONCE).await == 0 {
            break;
        }
        written += batch.len();
        let handle = ids.clone();
        rows = spawn_blocking(move || write(&handle, rows, &batch)).await??;
    }
    ids.close_async().await?;
    Ok(written)
}

fn open(folder: &Path) -> Result<(Handle, Connection), Failure> {
    let secret = Secret::from_file(folder.join("randflake.key"))?;
    let namespace = Namespace::new("jobs", Randflake)?;
    let store = SqliteStore::open(folder.join("leases.db"), &namespace)?;
    let rows = Connection::open(folder.join("jobs.db"))?;
    rows.execute_batch(
        "CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, job TEXT NOT NULL)",
    )?;
    Ok((Handle::builder(&secret, store).build()?, rows))
}

fn write(ids: &Handle, mut rows: Connection, batch: &[String]) -> Result<Connection, Failure> {
    let mut unused = vec![Id::from_i64(0); batch.len()];
    let mut filled = 0;
    // Waits where the ids of a second are exhausted.
    while filled < unused.len() {
        filled += ids.fill_wait(&mut unused[filled..], PATIENCE)?;
    }
    let transaction = rows.transaction()?;
    for row in unused.iter().zip(batch) {
        transaction.execute("INSERT INTO jobs VALUES (?1, ?2)", row)?;
    }
    transaction.commit()?;
    Ok(rows)
}
