//! A worker: takes jobs from a queue, a line each, and answers with the id of what it has made of
//! each. It ends with the queue or with SIGTERM, when the jobs that it has begun are done.

use std::{env, time::Duration};

use randflake_std::lease::{self, Namespace};
use randflake_std::{GenerateError, Handle, Randflake, Secret};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// Where a second has no id left, the job waits for the next one.
async fn work(ids: Handle, job: String) -> Result<String, GenerateError> {
    let id = ids.generate_wait_async(Duration::from_secs(5)).await?;
    Ok(format!("{id} {job}\n"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let secret = Secret::from_file(env::var("WORKER_KEY_FILE")?)?;
    let namespace = Namespace::new("jobs", Randflake)?;
    let url = env::var("RANDFLAKE_STORE")?;
    // Opened by the build, in a thread of its own.
    let store = lease::deferred(&namespace, move |namespace| lease::open(&url, namespace));
    let builder = Handle::builder(&secret, store)
        .wait(Duration::from_secs(30))
        .on_wait(|why, left| eprintln!("waiting for at most {left:.0?}: {why}"));
    let ids = select! {
        ids = builder.build_async() => ids?,
        _ = terminate.recv() => return Ok(()), // Nothing stays leased.
    };

    let (jobs, mut answers) = TcpStream::connect(env::var("QUEUE")?).await?.into_split();
    let mut jobs = BufReader::new(jobs).lines();
    let mut running = JoinSet::new();
    let mut is_open = true;
    while is_open || !running.is_empty() {
        select! {
            Some(done) = running.join_next() => {
                let answer: String = done??;
                answers.write_all(answer.as_bytes()).await?;
            }
            job = jobs.next_line(), if is_open => match job? {
                Some(job) => drop(running.spawn(work(ids.clone(), job))),
                None => is_open = false,
            },
            _ = terminate.recv() => is_open = false,
        }
    }
    Ok(ids.close_async().await?) // Gives the node id back.
}
