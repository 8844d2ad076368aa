//! Any bytes as commands of the Redis protocol, in pieces of any length: the same commands as at
//! once, and those that the crate `redis` reads.
#![no_main]

#[path = "../../src/resp/parse.rs"]
mod parse;

use libfuzzer_sys::fuzz_target;
use parse::{CommandLimits, Parser, Violation};
use redis::Value;

const LIMITS: CommandLimits = CommandLimits {
    words: 64,
    bytes: 4_096,
};

type Command = Vec<Vec<u8>>;

/// All commands of which no byte comes later than it is asked for, and what ended them.
fn read(input: &[u8], pieces: &[u8]) -> (Vec<Command>, Option<Violation>) {
    let (mut parser, mut commands) = (Parser::default(), Vec::new());
    let (mut begin, mut end) = (0, 0);
    let mut pieces = pieces.iter();
    loop {
        match parser.command(&input[begin..end], LIMITS) {
            Err(violation) => return (commands, Some(violation)),
            Ok(Some(length)) => {
                let command = &input[begin..begin + length];
                let words: Command = parser
                    .words()
                    .iter()
                    .map(|word| command[word.clone()].to_vec())
                    .collect();
                assert_eq!(parser.is_line(), command.first() != Some(&b'*'));
                compare(command, &words);
                commands.push(words);
                begin += length;
            }
            Ok(None) if end == input.len() => return (commands, None),
            Ok(None) => {
                let more = pieces.next().map_or(input.len(), |&piece| piece.into());
                end = (end + more).min(input.len());
            }
        }
    }
}

/// With what a client reads there.
fn compare(command: &[u8], words: &Command) {
    let Some((_, shorter)) = command.split_last() else {
        return;
    };
    if command.first() != Some(&b'*') || words.is_empty() {
        return;
    }
    let Value::Array(values) = redis::parse_redis_value(command).unwrap() else {
        panic!("{}", command.escape_ascii());
    };
    let theirs = values.into_iter().map(|value| match value {
        Value::BulkString(bytes) => bytes,
        other => panic!("{other:?}"),
    });
    assert!(theirs.eq(words.iter().cloned()));
    assert!(redis::parse_redis_value(shorter).is_err(), "it ends before");
}

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, pieces) = input;
    assert_eq!(read(&bytes, &[]), read(&bytes, &pieces));
});
