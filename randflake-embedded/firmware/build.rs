//! Places the linker scripts, and turns the libraries' test vectors into tables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

const RANDFLAKE: [&str; 2] = [
    "../../randflake-core/tests/vectors/reference.json",
    "../../randflake-core/tests/vectors/randflake.json",
];
const SPARX64: &str = "../../sparx64/tests/vectors/sparx64.json";

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
    for file in [memory, SPARX64].iter().chain(&RANDFLAKE) {
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

fn read(path: impl AsRef<Path>) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
