//! The function of `docs/data.md` that decodes ids in a notebook, with numpy and pandas.

use core::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use randflake_std::randflake_core::LAYOUTS;
use randflake_std::{Id, Layout, Randflake};

use crate::peer::Random;
use crate::peer::python;

const GUIDE: &str = include_str!("../../../../docs/data.md");

/// The block of Python in the guide that defines the function, and lines that call it.
fn program(calls: &str) -> String {
    let mut blocks = GUIDE.split("```python\n").skip(1);
    let code = blocks.find_map(|rest| {
        let code = rest.split("```").next()?;
        code.contains("def inspect(").then_some(code)
    });
    format!("{}\n{calls}", code.expect("docs/data.md defines inspect"))
}

fn run(program: &str, input: &str) -> String {
    let mut child = Command::new(python())
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// In two pieces of the function, with an end that fills neither.
#[test]
fn the_function_of_the_guide_decodes_as_core_does() {
    const CALLS: &str = "\
import sys

secret = bytes.fromhex(sys.stdin.readline())
ids = np.array(sys.stdin.read().split(), dtype=np.int64)
table = inspect(ids, secret)
for time, node, sequence in zip(table['time'], table['node'], table['sequence']):
    print(int(time.timestamp()), node, sequence)
";
    let mut random = Random::new();
    let secret = random.secret();
    let (mut input, mut expected) = (format!("{}\n", secret.hex), String::new());
    for _ in 0..40_000 {
        let parts = random.parts();
        let id = secret.codec.compose(parts).unwrap();
        writeln!(input, "{}", id.to_i64()).unwrap();
        let seconds = Randflake::SPEC.unix_ms(parts.tick) / 1_000;
        writeln!(expected, "{seconds} {} {}", parts.node_id, parts.sequence).unwrap();
    }
    assert!(run(&program(CALLS), &input) == expected);
}

/// `decrypt` alone gives raw ids of every layout.
#[test]
fn raw_ids_are_those_of_core() {
    const CALLS: &str = "\
import sys

secret = bytes.fromhex(sys.stdin.readline())
ids = np.array(sys.stdin.read().split(), dtype=np.int64)
print('\\n'.join(map(str, decrypt(ids, secret))))
";
    let mut random = Random::new();
    let secret = random.secret();
    let numbers: Vec<u64> = (0..1_000 * LAYOUTS.len()).map(|_| random.next()).collect();
    let lines = numbers
        .iter()
        .map(|number| number.cast_signed().to_string());
    let input = format!("{}\n{}", secret.hex, lines.collect::<Vec<_>>().join("\n"));
    let raws = numbers.iter().map(|number| {
        let raw = secret.codec.raw(Id::from_u64(*number));
        raw.to_string()
    });
    let told = run(&program(CALLS), &input);
    assert!(told.lines().eq(raws));
}

/// The other snippets, and what pandas does to numbers.
#[test]
fn pandas_reads_tables_as_the_guide_says() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("orders.key", "dffd6021bb2bd5b0af676290809ec3a5\n"),
        (
            "orders.csv",
            "order_id,customer\n4594531474933654033,7\n,8\n",
        ),
        (
            "inspected.csv",
            "order_id,customer,time_utc,node,sequence\n4594531474933654033,7,2024-12-09T01:04:57Z,42,1\n,8,,,\n\
             4594531474933654033,9,2024-12-09T01:04:57Z,42,1\n",
        ),
        ("data.md", GUIDE),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let ran = Command::new(python())
        .args(["-c", include_str!("notebook.py"), "data.md"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}
