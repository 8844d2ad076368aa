//! An engine that answers late, as a handle that is built meanwhile sees it: not started yet, or stopped as it stands.

use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use harness::engine::ServerEngine;
use randflake_std::lease::{self, StoreErrorKind};
use randflake_std::{Builder, Plain};
use tokio::runtime;
use tokio::time::sleep;

use crate::issuer::{Few, TTL, namespace};
use crate::scenarios::{end_quarantine, has_closed, patiently};

/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// As a service would write it that starts beside its engine.
fn builder(url: &str) -> Builder<Few> {
    let url = url.to_owned();
    let open = move |namespace: &_| lease::open(&url, namespace);
    let store = lease::deferred(&namespace("late"), open);
    Builder::new(Few, Plain, store).ttl(TTL).wait(PATIENCE)
}

/// Ends the time without grants that a server begins with: one that is new, and one that was started again.
fn grant_at_once(url: &str) {
    patiently(|| {
        lease::open(url, &namespace("late"))?
            .administration()
            .create_namespace()
    });
    end_quarantine(url, "late");
}

pub(crate) fn a_start_is_waited_for(engine: &mut dyn ServerEngine) {
    let url = engine.url();
    engine.server().kill();
    let (tell, told) = mpsc::channel();
    let builder = builder(&url).on_wait(move |error, _| {
        // Of what comes after the first reason nobody wants to know.
        let _unheard = tell.send(error.kind());
    });
    let building = thread::spawn(|| builder.build());
    assert_eq!(told.recv_timeout(PATIENCE), Ok(StoreErrorKind::Unavailable));
    engine.server().launch();
    engine.server().wait();
    grant_at_once(&url);
    let handle = building.join().unwrap().unwrap();
    handle.generate_wait(PATIENCE).unwrap();
}

/// The engine goes on once another task of the runtime has run a hundred times; else it never does.
pub(crate) fn a_runtime_goes_on(engine: &mut dyn ServerEngine) {
    let url = engine.url();
    grant_at_once(&url);
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        for _ in 0..100 {
            sleep(Duration::from_millis(1)).await;
        }
        tell.send(()).unwrap();
    });
    let server = &*engine.server();
    server.suspend();
    thread::scope(|scope| {
        let resuming = scope.spawn(move || {
            let told = told.recv_timeout(PATIENCE);
            server.resume();
            told
        });
        let handle = runtime.block_on(builder(&url).build_async()).unwrap();
        resuming.join().unwrap().unwrap();
        runtime
            .block_on(handle.generate_wait_async(PATIENCE))
            .unwrap();
        has_closed(&runtime.block_on(handle.close_async()));
    });
}
