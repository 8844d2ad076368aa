//! Reads `randflake.h`, which is where the codes, their texts and the sizes are written down.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

const HEADER: &str = "randflake.h";

fn main() {
    println!("cargo:rerun-if-changed={HEADER}");
    let header = fs::read_to_string(HEADER).unwrap();
    let mut code = String::new();
    let mut texts = String::new();
    let mut text = "";
    for line in header.lines().map(str::trim) {
        if let Some(comment) = line
            .strip_prefix("/** ")
            .and_then(|it| it.strip_suffix(" */"))
        {
            text = comment;
        } else if let Some((name, number)) = code_of(line) {
            writeln!(code, "pub(crate) const {name}: Status = Status({number});").unwrap();
            writeln!(texts, "Status({number}) => c{text:?},").unwrap();
        }
    }
    for name in ["SIZE", "ALIGN", "FLASH_SIZE"] {
        let number = defined(&header, &format!("RF_{name}"));
        writeln!(code, "pub(crate) const {name}: usize = {number};").unwrap();
    }
    writeln!(
        code,
        "pub(crate) fn text_of(status: Status) -> &'static CStr {{\n\
         match status {{\n{texts}_ => c\"unknown status\",\n}}\n}}"
    )
    .unwrap();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    fs::write(out.join("header.rs"), code).unwrap();
}

/// `RF_NAME = 7,` without the `RF_`.
fn code_of(line: &str) -> Option<(&str, u32)> {
    let (name, number) = line.strip_prefix("RF_")?.split_once(" = ")?;
    Some((name, number.trim_end_matches(',').parse().ok()?))
}

/// There are two definitions: for pointers of 64 bits, and for shorter ones.
fn defined<'a>(header: &'a str, name: &str) -> &'a str {
    let wide = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").unwrap() == "64";
    let start = format!("#define {name} ");
    let mut found = header.lines().filter_map(|line| line.strip_prefix(&start));
    found.nth(usize::from(!wide)).unwrap()
}
