//! Commands as clients send them: arrays of bulk strings, or words on a line. Nothing nests, so
//! nothing can nest too deep. A byte that begins neither is another protocol's: a TLS handshake may
//! have whole commands in its bytes.
//!
//! Replies are written elsewhere; a server reads nothing else of the protocol, so this is all of
//! its reader. It resumes where it stopped, so a command costs as much however it is cut into
//! packets.

use core::fmt::{self, Display, Formatter};
use core::ops::Range;

/// Limits on the commands of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandLimits {
    /// Most words of a command.
    pub(crate) words: usize,
    /// Most bytes of a command.
    pub(crate) bytes: usize,
}

/// The longest line of words, and its end, in bytes. Redis allows 64 KiB; lines are typed by
/// people.
const MAX_LINE: usize = 4_096;
/// The longest line with a length: a mark, 20 digits, and the end.
const MAX_LENGTH_LINE: usize = 32;

/// Why the connection has to end: where the next command begins is not known any more. The texts
/// are those of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    NoCommand(u8),
    ArrayLength,
    LengthLine,
    NoBulk(u8),
    BulkLength,
    NoEnd,
    Line,
    TooLong,
}

impl Display for Violation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            Self::NoCommand(byte) => write!(
                f,
                "expected '*' or a command's name, got '{}': this is no TLS, which --tls-cert brings, and no other protocol",
                byte.escape_ascii()
            ),
            Self::ArrayLength => f.write_str("invalid multibulk length"),
            Self::LengthLine => f.write_str("too big count string"),
            Self::NoBulk(byte) => write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Self::BulkLength => f.write_str("invalid bulk length"),
            Self::NoEnd => f.write_str("expected CRLF behind a bulk string"),
            Self::Line => f.write_str("too big inline request"),
            Self::TooLong => f.write_str("too big command"),
        }
    }
}

/// Reads one command after the other from the front of a buffer.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Where the words are, from the beginning of the command.
    words: Vec<Range<usize>>,
    /// Words of the array that are still to come; `None` before its length is known.
    left: Option<usize>,
    /// How far the command is read.
    at: usize,
    /// The command that was read last is a line of words.
    is_line: bool,
}

impl Parser {
    /// Reads on. `input` begins with the command, as in the call before, and may have become
    /// longer. Returns the command's length once it is whole; its words are [`words`](Self::words)
    /// until the next call.
    pub(crate) fn command(
        &mut self,
        input: &[u8],
        limits: CommandLimits,
    ) -> Result<Option<usize>, Violation> {
        // At the beginning of a command; in its midst what was read stays read, or a client that
        // sends a byte at a time would make the server read each command as often as it has bytes.
        if self.at == 0 {
            self.words.clear();
            self.is_line = input.first() != Some(&b'*');
            match input.first() {
                None => return Ok(None),
                Some(b'*') => {}
                Some(byte) if byte.is_ascii_alphabetic() || byte.is_ascii_whitespace() => {
                    return self.line(input);
                }
                Some(&other) => return Err(Violation::NoCommand(other)),
            }
        }
        let left = match self.left {
            Some(left) => left,
            None => match length(input, 0)? {
                None => return Ok(None),
                Some((length, behind)) => {
                    // `*0` and `*-1` are commands without words, which Redis passes over as well.
                    let words = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
                    if words > limits.words {
                        return Err(Violation::ArrayLength);
                    }
                    self.at = behind;
                    words
                }
            },
        };
        self.left = Some(left);
        // Words are kept as they come: an array that only announces many costs nothing.
        for left in (0..left).rev() {
            let Some(word) = bulk(input, self.at, limits)? else {
                return Ok(None);
            };
            self.at = word.end + 2;
            self.words.push(word);
            self.left = Some(left);
        }
        Ok(Some(self.end()))
    }

    /// Where the words are in the command that was read last.
    pub(crate) fn words(&self) -> &[Range<usize>] {
        &self.words
    }

    /// Whether it was a line of words, which other protocols have as well.
    pub(crate) fn is_line(&self) -> bool {
        self.is_line
    }

    fn end(&mut self) -> usize {
        self.left = None;
        core::mem::take(&mut self.at)
    }

    fn line(&mut self, input: &[u8]) -> Result<Option<usize>, Violation> {
        let within = &input[..input.len().min(MAX_LINE)];
        let Some(end) = within.iter().position(|&byte| byte == b'\n') else {
            let is_short = within.len() < MAX_LINE;
            return is_short.then_some(None).ok_or(Violation::Line);
        };
        let mut at = 0;
        // The `\r` before the end is white space, so it belongs to no word; lines that end in `\n`
        // alone are read, too, as in Redis.
        for word in input[..end].split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                self.words.push(at..at + word.len());
            }
            at += word.len() + 1;
        }
        Ok(Some(end + 1))
    }
}

/// The number behind the mark at `at`, and where the next line begins.
fn length(input: &[u8], at: usize) -> Result<Option<(i64, usize)>, Violation> {
    let invalid = match input[at] {
        b'*' => Violation::ArrayLength,
        _ => Violation::BulkLength,
    };
    let rest = &input[at + 1..];
    let within = &rest[..rest.len().min(MAX_LENGTH_LINE)];
    let Some(end) = within.iter().position(|&byte| byte == b'\r') else {
        let is_short = within.len() < MAX_LENGTH_LINE;
        return is_short.then_some(None).ok_or(Violation::LengthLine);
    };
    let Some(&next) = rest.get(end + 1) else {
        return Ok(None);
    };
    match number(&rest[..end]) {
        Some(number) if next == b'\n' => Ok(Some((number, at + 1 + end + 2))),
        _ => Err(invalid),
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match digits.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    // 18 digits always fit.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(if is_negative { -number } else { number })
}

/// The bulk string whose mark is at `at`, if it is whole.
fn bulk(input: &[u8], at: usize, limits: CommandLimits) -> Result<Option<Range<usize>>, Violation> {
    match input.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(&other) => return Err(Violation::NoBulk(other)),
    }
    let Some((length, begin)) = length(input, at)? else {
        return Ok(None);
    };
    let length = usize::try_from(length).map_err(|_| Violation::BulkLength)?;
    let end = begin.saturating_add(length);
    // When its length is read, not when it is there: the connection would wait for what it then
    // refuses.
    if end > limits.bytes {
        return Err(Violation::TooLong);
    }
    match input.get(end..end + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some(begin..end)),
        Some(_) => Err(Violation::NoEnd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CommandLimits = CommandLimits {
        words: 4,
        bytes: 64,
    };

    /// All commands, and what ended them.
    fn read(mut input: &[u8]) -> (Vec<Vec<String>>, Result<(), Violation>) {
        let (mut parser, mut commands) = (Parser::default(), Vec::new());
        loop {
            match parser.command(input, LIMITS) {
                Err(violation) => return (commands, Err(violation)),
                Ok(None) => return (commands, Ok(())),
                Ok(Some(length)) => {
                    let texts = parser.words().iter().map(|word| {
                        let bytes = input[word.clone()].to_vec();
                        String::from_utf8(bytes).unwrap()
                    });
                    commands.push(texts.collect());
                    input = &input[length..];
                }
            }
        }
    }

    #[test]
    fn commands_are_read_however_they_are_cut() {
        let input =
            b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*0\r\n*-1\r\nPING  x\r\n\r\n*1\r\n$0\r\n\r\nGET a\n";
        let all: Vec<Vec<&str>> = vec![
            vec!["INCR", "a"],
            vec![],
            vec![],
            vec!["PING", "x"],
            vec![],
            vec![""],
            vec!["GET", "a"],
        ];
        assert_eq!(
            read(input),
            (
                all.iter()
                    .map(|c| c.iter().map(|w| (*w).to_owned()).collect())
                    .collect(),
                Ok(())
            )
        );
        // One byte more at a time.
        let (mut parser, mut begin, mut found) = (Parser::default(), 0, 0);
        for end in 0..=input.len() {
            while let Some(length) = parser.command(&input[begin..end], LIMITS).unwrap() {
                let words: Vec<_> = parser
                    .words()
                    .iter()
                    .map(|word| &input[begin..][word.clone()])
                    .collect();
                assert_eq!(
                    words,
                    all[found]
                        .iter()
                        .map(|word| word.as_bytes())
                        .collect::<Vec<_>>()
                );
                begin += length;
                found += 1;
            }
        }
        assert_eq!(found, all.len());
    }

    #[test]
    fn what_cannot_be_a_command_ends_the_connection() {
        for (input, violation) in [
            ("*x\r\n", Violation::ArrayLength),
            ("*\r\n", Violation::ArrayLength),
            ("*1\rx", Violation::ArrayLength),
            ("*5\r\n", Violation::ArrayLength),
            ("*9999999999999999999\r\n", Violation::ArrayLength),
            (&"*1".repeat(20), Violation::LengthLine),
            ("*1\r\n:1\r\n", Violation::NoBulk(b':')),
            ("*1\r\n*1\r\n$1\r\na\r\n", Violation::NoBulk(b'*')),
            ("*1\r\n$-1\r\n", Violation::BulkLength),
            ("*1\r\n$+1\r\n", Violation::BulkLength),
            ("*1\r\n$65\r\n", Violation::TooLong),
            ("*1\r\n$999999999999999999\r\n", Violation::TooLong),
            ("*1\r\n$1\r\nab\r\n", Violation::NoEnd),
            (&"a".repeat(MAX_LINE), Violation::Line),
        ] {
            assert_eq!(read(input.as_bytes()), (vec![], Err(violation)), "{input}");
        }
    }
}
