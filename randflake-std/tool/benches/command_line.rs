//! Processor time of the command line tool for an id, over two million ids, including the start of
//! the process. Wall time says less: generating waits for the next second where a layout has no
//! more ids.
//!
//! Linux counts the sum of user and system time to the nanosecond, but divides it by samples, every
//! 4 ms or so. So both are printed: the user time as the median of the rounds, and the sum as the
//! least.
//!
//! `cargo xtask bench cli --old PROGRAM` measures another build beside this one, in turn.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

use core::mem::MaybeUninit;
use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
const FORMS: [&str; 12] = [
    "text", "int", "uint", "hex", "base2", "base32", "base36", "base58", "base62", "base64",
    "bytes", "uuid",
];

struct Bench {
    /// This build, and another.
    programs: Vec<PathBuf>,
    folder: TempDir,
    ids: u32,
    rounds: usize,
}

impl Bench {
    fn command(&self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(line.split_whitespace())
            .env("RANDFLAKE_KEY", KEY)
            .env("XDG_STATE_HOME", self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn file(&self, form: &str) -> PathBuf {
        self.folder.path().join(form)
    }

    /// The ids in a form, made by this build.
    fn write(&self, form: &str) {
        let mut command = if form == "text" {
            self.command(&self.programs[0], &format!("generate -n {}", self.ids))
        } else {
            let mut command = self.command(&self.programs[0], &format!("convert --to {form}"));
            command.stdin(File::open(self.file("text")).unwrap());
            command
        };
        let file = File::create(self.file(form)).unwrap();
        assert!(command.stdout(file).status().unwrap().success());
    }

    fn measure(&self, line: &str, form: Option<&str>) {
        let mut ns = vec![Vec::new(); self.programs.len()];
        for _ in 0..self.rounds {
            for (program, ns) in self.programs.iter().zip(&mut ns) {
                let mut command = self.command(program, line);
                if let Some(form) = form {
                    command.stdin(File::open(self.file(form)).unwrap());
                }
                let before = children_ns();
                assert!(command.status().unwrap().success(), "{line}");
                let after = children_ns();
                ns.push([0, 1].map(|kind| (after[kind] - before[kind]) / f64::from(self.ids)));
            }
        }
        print!("{line:42}");
        for ns in ns {
            let (mut user, mut sum): (Vec<_>, Vec<_>) = ns.iter().map(|&[a, b]| (a, b)).unzip();
            user.sort_by(f64::total_cmp);
            sum.sort_by(f64::total_cmp);
            print!(" {:10.1} {:10.1}", user[user.len() / 2], sum[0]);
        }
        println!();
    }
}

/// User time of all children that were waited for, and the sum of user and system time, in
/// nanoseconds.
fn children_ns() -> [f64; 2] {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    #[expect(unsafe_code, reason = "the standard library has no such question")]
    // SAFETY: there is room for the answer where the pointer leads.
    let status = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    assert_eq!(status, 0);
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: the call has succeeded, so it has written all of it.
    let usage = unsafe { usage.assume_init() };
    #[expect(clippy::cast_precision_loss, reason = "microseconds of some minutes")]
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    let user = ns(usage.ru_utime);
    [user, user + ns(usage.ru_stime)]
}

fn main() {
    let mut arguments = env::args().skip(1);
    let mut programs = vec![PathBuf::from(env!("CARGO_BIN_EXE_randflake"))];
    let mut is_bench = false;
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--old" => programs.extend(arguments.next().map(PathBuf::from)),
            // Without it, it is run as a test.
            "--bench" => is_bench = true,
            _ => {}
        }
    }
    let bench = Bench {
        programs,
        folder: TempDir::new().unwrap(),
        ids: if is_bench { 2_000_000 } else { 1_000 },
        rounds: if is_bench { 5 } else { 1 },
    };
    println!(
        "{:42} {:>10} {:>10}  and of --old",
        "ns an id", "user", "user+sys"
    );
    for format in ["text", "int", "json"] {
        bench.measure(
            &format!("generate -n {} --format {format}", bench.ids),
            None,
        );
    }
    for form in FORMS {
        bench.write(form);
        bench.measure(&format!("convert --to {form}"), Some("text"));
        bench.measure(&format!("convert --from {form} --to text"), Some(form));
    }
    bench.measure("convert --to text --encrypt", Some("text"));
    bench.measure("convert --to text --decrypt", Some("text"));
    bench.measure("inspect", Some("text"));
    bench.measure("inspect --json", Some("text"));
}
