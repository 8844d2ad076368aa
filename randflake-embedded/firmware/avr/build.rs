//! Turns the libraries' test vectors into tables of bytes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use serde_json::Value;

const RANDFLAKE: [&str; 2] = [
    "../../../randflake-core/tests/vectors/reference.json",
    "../../../randflake-core/tests/vectors/randflake.json",
];
const SPARX64: &str = "../../../sparx64/tests/vectors/sparx64.json";

fn main() {
    let mut code = String::from("static SPARX64: &[([u8; 16], u64, u64)] = &[\n");
    for vector in read(SPARX64) {
        // A block is a number whose first byte is the lowest.
        let block = |name: &str| {
            let digits = vector[name].as_str().unwrap();
            u64::from_str_radix(digits, 16).unwrap().swap_bytes()
        };
        let key = bytes(&vector, "key");
        let (plaintext, ciphertext) = (block("plaintext"), block("ciphertext"));
        writeln!(code, "({key:?}, {plaintext}, {ciphertext}),").unwrap();
    }
    code.push_str("];\nstatic RANDFLAKE: &[([u8; 16], u64, i64)] = &[\n");
    for vector in RANDFLAKE.iter().flat_map(|path| read(path)) {
        writeln!(
            code,
            "({:?}, {}, {}),",
            bytes(&vector, "secret"),
            vector["raw_id"].as_str().unwrap(),
            vector["encrypted_id"].as_str().unwrap(),
        )
        .unwrap();
    }
    code.push_str("];\nstatic TEXTS: &[(i64, &str)] = &[\n");
    for vector in read(RANDFLAKE[0]) {
        let id = vector["encrypted_id"].as_str().unwrap();
        writeln!(code, "({id}, {}),", vector["encoded_id"]).unwrap();
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    fs::write(out.join("vectors.rs"), code).unwrap();
    for file in [SPARX64].iter().chain(&RANDFLAKE) {
        println!("cargo:rerun-if-changed={file}");
    }
}

fn read(path: &str) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn bytes(vector: &Value, name: &str) -> Vec<u8> {
    let digits = vector[name].as_str().unwrap();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}
