//! The published Python package, in a process of its own.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use randflake_std::randflake_core::{Codec, Sparx64};
use randflake_std::{Layout, Parts, Randflake};
use serde_json::Value;

const PYTHON: &str = "RANDFLAKE_INTEROP_PYTHON";

/// A Python that has the package.
pub(crate) fn python() -> OsString {
    std::env::var_os(PYTHON)
        .expect("RANDFLAKE_INTEROP_PYTHON must be the path of a Python that has randflake 2.1.0")
}

/// What the package answers to each request.
pub(crate) fn ask(requests: &[Value]) -> Vec<Value> {
    let mut command = Command::new(python());
    command.args(["-c", include_str!("peer.py")]);
    answers(command, requests)
}

/// What a program answers to each request: one JSON object a line, in and out.
pub(crate) fn answers(mut command: Command, requests: &[Value]) -> Vec<Value> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<_> = requests.iter().map(Value::to_string).collect();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all((lines.join("\n") + "\n").as_bytes()));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{}", output.status);
    let answers: Vec<_> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), requests.len());
    answers
}

/// `SplitMix64`: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        let seed = getrandom::u64().unwrap();
        eprintln!("seed {seed:#x}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `max`; at the ends more often than by chance.
    pub(crate) fn up_to(&mut self, max: u64) -> u64 {
        match self.next() % 16 {
            0 => 0,
            1 => max,
            _ => self.next() % (max + 1),
        }
    }

    pub(crate) fn secret(&mut self) -> Secret {
        let bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        Secret {
            hex: format!("{:032x}", u128::from_be_bytes(bytes)),
            codec: Codec::new(Randflake, Sparx64::new(&bytes)),
        }
    }

    pub(crate) fn parts(&mut self) -> Parts {
        let spec = Randflake::SPEC;
        let field = |value: u64| u32::try_from(value).unwrap();
        Parts {
            tick: self.up_to(spec.max_tick()),
            node_id: field(self.up_to(spec.max_node_id().into())),
            sequence: field(self.up_to(spec.max_sequence().into())),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.next() % from.len() as u64;
        from[usize::try_from(index).unwrap()]
    }

    /// Digits; in half of the texts also characters that some decoders take and others do not.
    pub(crate) fn text(&mut self) -> String {
        const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuv";
        const OTHERS: &[char] = &[
            'A', 'F', 'V', 'W', 'Z', 'w', 'z', '=', '-', '+', '_', ' ', '\n', '\0', '/', ':', '@',
            '`', 'é', '٣',
        ];
        let sixteenths = self.pick(&[0, 0, 1, 8]);
        let length = self.up_to(16);
        let mut character = |_| {
            if self.next() % 16 < sixteenths {
                self.pick(OTHERS)
            } else {
                char::from(self.pick(DIGITS))
            }
        };
        (0..length).map(&mut character).collect()
    }
}

/// A secret as the package takes it, and what it does here.
pub(crate) struct Secret {
    pub(crate) hex: String,
    pub(crate) codec: Codec<Randflake>,
}
