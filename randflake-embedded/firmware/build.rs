//! Places the linker scripts, turns the libraries' test vectors into tables, and makes tickets as a
//! server does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{array, env, fs};

use randflake_core::{Lease, Randflake, Ticket};
use serde_json::Value;

const RANDFLAKE: [&str; 2] = [
    "../../randflake-core/tests/vectors/reference.json",
    "../../randflake-core/tests/vectors/randflake.json",
];
const SPARX64: &str = "../../sparx64/tests/vectors/sparx64.json";
const TICKETS: &str = "../../randflake-core/tests/vectors/tickets.json";
/// One for each reset that the image survives.
const RENEWALS: u32 = 20;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let riscv = env::var("CARGO_CFG_TARGET_ARCH").unwrap() == "riscv32";
    let memory = if riscv {
        "memory/riscv.x"
    } else {
        "memory/arm.x"
    };
    fs::copy(memory, out.join("memory.x")).unwrap();
    println!("cargo:rustc-link-search={}", out.display());
    if riscv {
        println!("cargo:rustc-link-arg=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg=-Tlink.x");
    println!("cargo:rustc-link-arg=--nmagic");

    fs::write(out.join("vectors.rs"), tables()).unwrap();
    fs::write(out.join("tickets.rs"), tickets()).unwrap();
    for file in [memory, SPARX64, TICKETS].iter().chain(&RANDFLAKE) {
        println!("cargo:rerun-if-changed={file}");
    }
}

fn tables() -> String {
    let mut code = String::from("pub static RANDFLAKE: &[Randflake] = &[\n");
    for vector in RANDFLAKE.iter().flat_map(read) {
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let timestamp = vector["timestamp"].as_u64().unwrap();
        let id = text("encrypted_id").parse::<i64>().unwrap();
        writeln!(
            code,
            "Randflake {{ key: 0x{}, tick: {}, node_id: {}, sequence: {}, id: {id}, text: {:?} }},",
            text("secret"),
            timestamp - 1_730_000_000,
            vector["node_id"],
            vector["sequence"],
            text("encoded_id"),
        )
        .unwrap();
    }
    code.push_str("];\npub static SPARX64: &[(u128, u64, u64)] = &[\n");
    for vector in read(SPARX64) {
        let hex = |name: &str| vector[name].as_str().unwrap().to_owned();
        let (key, plaintext, ciphertext) = (hex("key"), hex("plaintext"), hex("ciphertext"));
        writeln!(code, "(0x{key}, 0x{plaintext}, 0x{ciphertext}),").unwrap();
    }
    code.push_str("];\n");
    code
}

/// Vectors, and tickets of a lease that is renewed again and again, with the key and for the device
/// of the first.
fn tickets() -> String {
    let vectors = read(TICKETS);
    let mut code = String::from("pub static VECTORS: &[Vector] = &[\n");
    for vector in &vectors {
        let tick = |name: &str| vector[name].as_u64().unwrap() - 1_730_000_000;
        writeln!(
            code,
            "Vector {{ key: {:?}, device_id: {}, counter: {}, node_id: {}, start: {}, end: {}, ticket: {:?} }},",
            bytes::<16>(vector, "key"),
            device_id(vector),
            vector["counter"],
            vector["node_id"],
            tick("start_unix_s"),
            tick("end_unix_s"),
            bytes::<32>(vector, "ticket"),
        )
        .unwrap();
    }
    writeln!(code, "];\npub static RENEWALS: [[u8; 32]; {RENEWALS}] = [").unwrap();
    for counter in 1..=RENEWALS {
        let lease = Lease::new(Randflake, 42, 1, (1 << 28) + u64::from(counter)).unwrap();
        let ticket = Ticket::of(&lease, device_id(&vectors[0]), counter).unwrap();
        let bytes = ticket.encode(&bytes::<16>(&vectors[0], "key"));
        writeln!(code, "{bytes:?},").unwrap();
    }
    code.push_str("];\n");
    code
}

fn device_id(vector: &Value) -> u64 {
    u64::from_be_bytes(bytes(vector, "device_id"))
}

fn bytes<const N: usize>(vector: &Value, name: &str) -> [u8; N] {
    let digits = vector[name].as_str().unwrap();
    assert_eq!(digits.len(), 2 * N);
    array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
}

fn read(path: impl AsRef<Path>) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
