//! The stream of a connection to Redis: commands out, and replies in, which are bounded. The
//! client's own has no bound.

use core::fmt::{self, Debug, Formatter};
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

#[cfg(not(feature = "tls"))]
pub(crate) use disabled::Encryption;
#[cfg(feature = "tls")]
pub(crate) use enabled::Encryption;
use randflake_lease::unstable::net::{LARGEST_REPLY, too_long};
use redis::{
    ConnectionAddr, ConnectionInfo, ConnectionLike, ErrorKind, Parser, Pipeline,
    RedisConnectionInfo, RedisError, RedisResult, Value,
};

/// A socket to a server.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A stream to a server, plain or encrypted.
pub(crate) trait Stream: Read + Write + Send {
    /// The socket below.
    fn socket(&mut self) -> &mut Socket;
}

/// A connection to a server.
pub(crate) struct Transport {
    stream: Box<dyn Stream>,
    /// Has what was read beyond the last reply.
    parser: Parser,
    database: i64,
    is_open: bool,
}

impl Transport {
    /// Logs in over a socket that has a time limit.
    pub(crate) fn over(
        socket: Socket,
        settings: &ConnectionInfo,
        encryption: Option<&Encryption>,
    ) -> RedisResult<Self> {
        let stream: Box<dyn Stream> = match (encryption, settings.addr()) {
            (Some(encryption), ConnectionAddr::TcpTls { host, .. }) => {
                encryption.over(socket, host)?
            }
            _ => Box::new(socket),
        };
        let login = settings.redis_settings();
        let mut transport = Self {
            stream,
            parser: Parser::new(),
            database: login.db(),
            is_open: true,
        };
        transport.log_in(login)?;
        Ok(transport)
    }

    fn log_in(&mut self, login: &RedisConnectionInfo) -> RedisResult<()> {
        let mut commands = redis::pipe();
        if let Some(password) = login.password() {
            let words = login.username().into_iter().chain([password]);
            commands.cmd("AUTH").arg(words.collect::<Vec<_>>());
        }
        if login.db() != 0 {
            commands.cmd("SELECT").arg(login.db());
        }
        if commands.is_empty() {
            return Ok(());
        }
        let mut answers = self.ask_all(&commands)?.into_iter();
        if login.password().is_some() {
            let refused = answers.next().and_then(Result::err);
            // A server that is full says so to the first command, whatever that is.
            if let Some(error) = refused.filter(|error| !is_full(error)) {
                let why = "the server refuses user and password";
                return Err((ErrorKind::AuthenticationFailed, why, error.to_string()).into());
            }
        }
        answers.next().unwrap_or(Ok(Value::Okay)).map(drop)
    }

    /// The answers to commands that are sent together; each may be an error of its own. Stops at
    /// the first that does not come in time: what is left unread ends with the connection.
    pub(crate) fn ask_all(&mut self, commands: &Pipeline) -> RedisResult<Vec<RedisResult<Value>>> {
        self.send(&commands.get_packed_pipeline())?;
        (0..commands.len())
            .map(|_| Ok(self.receive()?.extract_error()))
            .collect()
    }

    /// How long a reply and a command may take from here on.
    pub(crate) fn limit(&mut self, limit: Duration) -> RedisResult<()> {
        Ok(self.stream.socket().limit(limit)?)
    }

    /// Whether the server has ended the connection, without a round trip. What it sends unasked
    /// counts as the end: it would be taken for the next reply.
    pub(crate) fn has_ended(&mut self) -> bool {
        let is_silent = self.stream.socket().is_silent();
        self.is_open = self.is_open && is_silent.unwrap_or(false);
        !self.is_open
    }

    fn send(&mut self, bytes: &[u8]) -> RedisResult<()> {
        let stream = &mut self.stream;
        let sent = stream.write_all(bytes).and_then(|()| stream.flush());
        self.noting(sent.map_err(Into::into))
    }

    /// The next reply. Messages in between that answer nothing are passed over.
    fn receive(&mut self) -> RedisResult<Value> {
        let mut bounded = Bounded {
            stream: &mut *self.stream,
            left: LARGEST_REPLY,
        };
        let received = loop {
            match self.parser.parse_value(&mut bounded) {
                Ok(Value::Push { .. }) => {}
                received => break received,
            }
        };
        self.noting(received)
    }

    /// After a failure nobody knows where the next reply begins.
    fn noting<T>(&mut self, outcome: RedisResult<T>) -> RedisResult<T> {
        self.is_open &= outcome.is_ok();
        outcome
    }
}

impl ConnectionLike for Transport {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.send(command)?;
        self.receive()
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        self.send(commands)?;
        let all: RedisResult<Vec<_>> = (0..offset + count).map(|_| self.receive()).collect();
        Ok(all?.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        self.database
    }

    fn check_connection(&mut self) -> bool {
        redis::cmd("PING").query::<String>(self).is_ok()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

impl Debug for Transport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}

/// Whether the server has as many clients as it takes.
fn is_full(error: &RedisError) -> bool {
    error
        .detail()
        .is_some_and(|detail| detail.contains("max number of clients"))
}

/// A reply up to its greatest length.
struct Bounded<'a> {
    stream: &'a mut dyn Stream,
    left: usize,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or_else(too_long)?;
        Ok(read)
    }
}

macro_rules! on {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($stream) => $call,
            #[cfg(unix)]
            Socket::Unix($stream) => $call,
        }
    };
}

impl Socket {
    /// Connects to an address.
    pub(crate) fn connect(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        let begun = Instant::now();
        let stream = TcpStream::connect_timeout(address, limit)?;
        // Or what is too long for one packet waits for an acknowledgement.
        stream.set_nodelay(true)?;
        let socket = Self::Tcp(stream);
        // At least a moment: zero would be no limit.
        let left = limit.saturating_sub(begun.elapsed());
        socket.limit(left.max(Duration::from_millis(1)))?;
        Ok(socket)
    }

    /// Connects to a socket of this machine.
    #[cfg(unix)]
    pub(crate) fn local(path: &Path, limit: Duration) -> io::Result<Self> {
        let socket = Self::Unix(UnixStream::connect(path)?);
        socket.limit(limit)?;
        Ok(socket)
    }

    #[cfg(not(unix))]
    pub(crate) fn local(_: &Path, _: Duration) -> io::Result<Self> {
        Err(io::Error::other("this system has no such sockets"))
    }

    fn limit(&self, limit: Duration) -> io::Result<()> {
        on!(self, stream => {
            stream.set_read_timeout(Some(limit))?;
            stream.set_write_timeout(Some(limit))
        })
    }

    /// Whether there is nothing to read, not even the end.
    fn is_silent(&mut self) -> io::Result<bool> {
        on!(self, stream => stream.set_nonblocking(true))?;
        let found = self.read(&mut [0]);
        on!(self, stream => stream.set_nonblocking(false))?;
        Ok(found.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        on!(self, stream => stream.read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        on!(self, stream => stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        on!(self, stream => stream.flush())
    }
}

impl Stream for Socket {
    fn socket(&mut self) -> &mut Socket {
        self
    }
}

#[cfg(feature = "tls")]
mod enabled {
    use std::io;
    use std::sync::Arc;

    use randflake_lease::EngineError;
    use randflake_lease::unstable::tls::Files;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, StreamOwned};

    use super::{Socket, Stream};

    /// How connections are encrypted.
    #[derive(Clone, Debug)]
    pub(crate) struct Encryption(Arc<ClientConfig>);

    impl Encryption {
        pub(crate) fn new(files: &Files) -> Result<Self, EngineError> {
            Ok(Self(Arc::new(files.client_config()?)))
        }

        /// A stream over a socket. The handshake is part of the first command.
        pub(crate) fn over(&self, socket: Socket, host: &str) -> io::Result<Box<dyn Stream>> {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let session =
                ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
            Ok(Box::new(StreamOwned::new(session, socket)))
        }
    }

    impl Stream for StreamOwned<ClientConnection, Socket> {
        fn socket(&mut self) -> &mut Socket {
            &mut self.sock
        }
    }
}

#[cfg(not(feature = "tls"))]
mod disabled {
    use std::io;

    use randflake_lease::EngineError;
    use randflake_lease::unstable::tls::{Files, without_tls};

    use super::{Socket, Stream};

    /// Has no value: a build without encryption makes none.
    #[derive(Clone, Debug)]
    pub(crate) enum Encryption {}

    impl Encryption {
        pub(crate) fn new(_: &Files) -> Result<Self, EngineError> {
            Err(without_tls())
        }

        pub(crate) fn over(&self, _: Socket, _: &str) -> io::Result<Box<dyn Stream>> {
            match *self {}
        }
    }
}
