//! redis-py's own tests, of its package of `PyPI`, with the server in place of Redis. What they ask
//! for that is not here is left out by a list of reasons; a failure of any other kind fails this.

use std::process::Command;
use std::{fs, path::Path};

use super::{free_port, list};
use crate::server::Server;
use crate::told;

const LEFT_OUT: &str = include_str!("redis_py.txt");

/// Fewer would be another version, or a server that is left out everywhere.
const LEAST: usize = 700;

#[test]
fn its_tests_pass_where_they_apply() {
    assert!(list(LEFT_OUT).count() > 20);
    let port = free_port();
    let server = Server::start_with(&["--resp", &format!("127.0.0.1:{port}")]);
    let suite = told("RANDFLAKE_REDIS_PY");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve_tools/checkers");
    fs::copy(here.join("redis_py.py"), suite.join("checker.py")).unwrap();
    let output = Command::new(told("RANDFLAKE_CHECKERS_PYTHON"))
        .args("-m pytest tests -p checker -q --timeout 300 --tb=line".split(' '))
        .args(["-p", "no:cacheprovider", "-o", "asyncio_mode=auto"])
        .args(["--redis-url", &format!("redis://127.0.0.1:{port}/0")])
        .args(["--redis-mod-url", "redis://127.0.0.1:9/0"])
        .env("RANDFLAKE_LEFT_OUT", here.join("redis_py.txt"))
        .current_dir(suite)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let checked = said
        .lines()
        .filter_map(|line| line.strip_prefix("checked: "));
    let mut passed = 0;
    for line in checked {
        println!("checked: {line}");
        if let Some((count, "passed")) = line.trim().split_once(' ') {
            passed = count.parse().unwrap();
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(passed >= LEAST, "{passed} passed: {said}");
    assert_eq!(server.get("/healthz").status, 200);
}
