//! Child process that holds a key, and uses it in every way that the library has.

use core::hint::black_box;
use core::mem;
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::segment::Segments;
use randflake_std::{Handle, Id, KeyNumber, Randflake, Secret, TagKey};
use sparx64::{Backend, Sparx64, Sparx64OnTheFly};
use zeroize::Zeroizing;

/// Name by which the derived secret is.
pub(super) const DERIVED: &str = "orders";

/// One use of a key.
pub(super) struct Scenario {
    pub(super) name: String,
    /// Stops while it has the key.
    run: Box<dyn Fn(&mut Stops)>,
    /// Whether it leaves a copy: planted, to be found.
    pub(super) leaves_copy: bool,
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = |name: &str, run: fn(&mut Stops)| Scenario {
        name: name.to_owned(),
        run: Box::new(run),
        leaves_copy: false,
    };
    let mut scenarios = vec![
        scenario("cipher", cipher),
        scenario("cipher on the fly", cipher_on_the_fly),
        scenario("derived secret", derived_secret),
        scenario("key of tags", tag_key),
        scenario("secret in hexadecimal", hexadecimal),
        scenario("handle", handle),
        scenario("segments", segments),
    ];
    scenarios.extend(Backend::available().map(|backend| Scenario {
        name: format!("many blocks, {backend}"),
        run: Box::new(move |stops| many_blocks(stops, backend)),
        leaves_copy: false,
    }));
    scenarios.push(Scenario {
        leaves_copy: true,
        ..scenario("a cipher forgotten", forgotten)
    });
    scenarios
}

fn cipher(stops: &mut Stops) {
    let key = stops.key();
    let cipher = Sparx64::new(&key);
    drop(key);
    _ = black_box(cipher.decrypt_u64(cipher.encrypt_u64(black_box(7))));
    stops.stop();
}

fn cipher_on_the_fly(stops: &mut Stops) {
    let key = stops.key();
    let cipher = Sparx64OnTheFly::new(&key);
    drop(key);
    _ = black_box(cipher.decrypt_u64(cipher.encrypt_u64(black_box(7))));
    stops.stop();
}

fn forgotten(stops: &mut Stops) {
    let cipher = Box::new(Sparx64::new(&stops.key()));
    stops.stop();
    mem::forget(black_box(cipher));
}

fn many_blocks(stops: &mut Stops, backend: Backend) {
    let key = stops.key();
    let cipher = Sparx64::new(&key);
    drop(key);
    let mut blocks: Vec<u64> = (0..1_000).collect();
    cipher.encrypt_blocks_with(backend, black_box(&mut blocks));
    cipher.decrypt_blocks_with(backend, black_box(&mut blocks));
    stops.stop();
}

fn tag_key(stops: &mut Stops) {
    let key = stops.key();
    let tags = TagKey::new(KeyNumber::MIN, Sparx64::new(&key));
    drop(key);
    let uuid = tags.tag(black_box(Id::from_u64(7)));
    _ = black_box(tags.check(black_box(uuid)));
    stops.stop();
}

fn derived_secret(stops: &mut Stops) {
    let secret = secret(stops);
    let derived = secret.derive(DERIVED);
    _ = black_box(secret == derived.clone());
    stops.stop();
}

fn hexadecimal(stops: &mut Stops) {
    let secret = secret(stops);
    let hex = secret.to_hex();
    _ = black_box(Secret::from_hex(&hex));
    stops.stop();
}

fn handle(stops: &mut Stops) {
    let secret = secret(stops);
    let ids = Handle::builder(&secret, store())
        .build()
        .expect("the store is empty");
    drop(secret);
    let limit = Duration::from_secs(10);
    let mut buffer = vec![Id::from_u64(0); 500];
    for _ in 0..500 {
        buffer.push(ids.generate_wait(limit).expect("there are ids"));
    }
    ids.fill_wait(&mut buffer, limit).expect("there are ids");
    for id in buffer {
        _ = black_box(ids.inspect(id));
    }
    stops.stop();
    ids.close().expect("the store is there");
}

fn segments(stops: &mut Stops) {
    let secret = secret(stops);
    let numbers = Segments::builder(store())
        .encrypted(&secret)
        .build()
        .expect("the store is there");
    drop(secret);
    for _ in 0..500 {
        _ = black_box(numbers.next().expect("there are numbers"));
    }
    stops.stop();
}

fn secret(stops: &mut Stops) -> Secret {
    let key = stops.key();
    Secret::from_bytes(**key)
}

fn store() -> MemoryStore {
    let namespace = Namespace::new("secrecy", Randflake).expect("the name is valid");
    MemoryStore::with_system_clock(namespace)
}

/// Runs a scenario: the key comes from standard input, and after each stop a byte.
pub(crate) fn hold(scenario: &str) -> bool {
    let scenarios = scenarios();
    let Some(scenario) = scenarios.iter().find(|known| known.name == scenario) else {
        return false;
    };
    let input = io::stdin().as_fd().try_clone_to_owned();
    // Without a buffer, which would keep a copy.
    let mut stops = Stops(File::from(input.expect("a pipe can be shared")));
    (scenario.run)(&mut stops);
    stops.stop();
    true
}

pub(super) struct Stops(File);

impl Stops {
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "a key that moves leaves a copy behind"
    )]
    fn key(&mut self) -> Box<Zeroizing<[u8; 16]>> {
        let mut key = Box::new(Zeroizing::new([0; 16]));
        let read = self.0.read_exact(key.as_mut_slice());
        read.expect("the other process sends a key");
        key
    }

    /// Lets the other process look.
    fn stop(&mut self) {
        println!("stopped");
        io::stdout().flush().expect("the other process listens");
        let mut byte = [0];
        self.0
            .read_exact(&mut byte)
            .expect("the other process goes on");
    }
}
