//! A client that sends any bytes, and reads replies without a library's help.

use core::time::Duration;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

/// Nothing takes so long, on any machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let replies = BufReader::new(stream.try_clone().unwrap());
        Self { stream, replies }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn command(words: &[&str]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
        }
        bytes
    }

    /// The reply to a command: `+OK`, `-ERR ...`, `:1`, a string as it is, `(null)`, or the parts of an array by spaces.
    pub(crate) fn ask(&mut self, words: &[&str]) -> String {
        self.send(&Self::command(words));
        self.reply()
    }

    pub(crate) fn reply(&mut self) -> String {
        let line = self.line();
        let length = || line[1..].parse::<i64>().unwrap();
        match line.as_bytes()[0] {
            b'+' | b'-' | b':' => line,
            b'$' if length() < 0 => "(null)".to_owned(),
            b'$' => {
                let mut bytes = vec![0; usize::try_from(length()).unwrap() + 2];
                self.replies.read_exact(&mut bytes).unwrap();
                assert!(bytes.ends_with(b"\r\n"));
                bytes.truncate(bytes.len() - 2);
                bytes.escape_ascii().to_string()
            }
            b'*' => {
                let parts = (0..length()).map(|_| self.reply());
                parts.collect::<Vec<_>>().join(" ")
            }
            _ => panic!("no reply: {line:?}"),
        }
    }

    /// The first line of a reply, such as the length of an array whose parts are replies.
    pub(crate) fn head(&mut self) -> String {
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        assert!(line.ends_with("\r\n"), "the connection ended: {line:?}");
        line.truncate(line.len() - 2);
        line
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Closes the sending direction.
    pub(crate) fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// All that comes until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        self.rest_or_reset().unwrap()
    }

    /// The same, of a server that may not have read what was sent.
    pub(crate) fn rest_or_reset(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.replies.read_to_end(&mut bytes)?;
        Ok(bytes.escape_ascii().to_string())
    }
}
