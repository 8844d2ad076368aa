//! General commands that client libraries send by themselves, answered as Redis answers them.

#![expect(
    clippy::unnecessary_wraps,
    reason = "commands have one type, that of the table"
)]

use core::fmt::Write as _;
use std::process;

use super::reply::Replies;
use super::session::{Answered, CommandArgs, RespSession};
use crate::access::{Principal, Scope};
use crate::refusal::{Refusal, RefusalKind};

/// The version of Redis that clients are told, some of which choose commands by it. `HELLO` came
/// with 6, and nothing of 7.0 that a library uses unasked is missing here.
const REDIS_VERSION: &str = "7.0.0";

/// Memory of a line about a namespace, in bytes.
const LINE: usize = 128;

pub(super) fn ping(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    match (words.get(1), words.len()) {
        (None, _) => session.out.simple("PONG"),
        (Some(text), 2) => session.out.bulk(text),
        _ => {
            let message = "wrong number of arguments for 'ping' command";
            return Err(Refusal::invalid(message));
        }
    }
    Ok(())
}

pub(super) fn echo(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    session.out.bulk(words.get(1).unwrap_or_default());
    Ok(())
}

pub(super) fn select(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    // Libraries send it for the database that their URL names. Another one than 0 may be meant to
    // keep apart what is one namespace here.
    if words.get(1) != Some(b"0") {
        let message = "DB index is out of range: there is 0 only";
        return Err(Refusal::invalid(message));
    }
    session.out.simple("OK");
    Ok(())
}

pub(super) fn reset(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    session.forget();
    session.name.clear();
    session.out.is_third = false;
    session.out.simple("RESET");
    Ok(())
}

pub(super) fn quit(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    session.is_over = true;
    session.out.simple("OK");
    Ok(())
}

/// `AUTH [name] token`: the connection is that of the token from here on.
pub(super) fn auth(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    match (words.get(1), words.get(2), words.len()) {
        (Some(token), None, _) => session.authenticate(None, token)?,
        (name, Some(token), 3) => session.authenticate(name, token)?,
        _ => {
            return Err(Refusal::invalid(
                "syntax error: AUTH [name] token is allowed",
            ));
        }
    }
    session.out.simple("OK");
    Ok(())
}

/// `HELLO [2 | 3 [AUTH name token] [SETNAME name]]`
pub(super) fn hello(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let is_third = match words.get(1) {
        None => session.out.is_third,
        Some(b"2") => false,
        Some(b"3") => true,
        Some(_) => {
            session.service.counters.refused(RefusalKind::Invalid);
            session.out.error("NOPROTO", "unsupported protocol version");
            return Ok(());
        }
    };
    let mut options = words.from(2);
    while let Some(option) = options.next() {
        if option.eq_ignore_ascii_case(b"AUTH") {
            match (options.next(), options.next()) {
                (name, Some(token)) => session.authenticate(name, token)?,
                _ => return Err(hello_syntax()),
            }
        } else if option.eq_ignore_ascii_case(b"SETNAME") {
            let name = options.next().ok_or_else(hello_syntax)?;
            set_name(session, name)?;
        } else {
            return Err(hello_syntax());
        }
    }
    // After AUTH, before the reply: without a token nothing is told of the server, as in Redis.
    session.principal()?;
    session.out.is_third = is_third;
    session.out.map(7);
    let version = env!("CARGO_PKG_VERSION");
    for (name, value) in [("server", "randflake"), ("version", version)] {
        session.out.bulk(name.as_bytes());
        session.out.bulk(value.as_bytes());
    }
    session.out.bulk(b"proto");
    session.out.number(if is_third { 3 } else { 2 });
    session.out.bulk(b"id");
    session.out.number(session.number);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        session.out.bulk(name.as_bytes());
        session.out.bulk(value.as_bytes());
    }
    session.out.bulk(b"modules");
    session.out.array(0);
    Ok(())
}

fn hello_syntax() -> Refusal {
    Refusal::invalid("syntax error: HELLO [2 | 3 [AUTH name token] [SETNAME name]] is allowed")
}

fn set_name(session: &mut RespSession, name: &[u8]) -> Result<(), Refusal> {
    if name.len() > 64 || !name.iter().all(u8::is_ascii_graphic) {
        let message = "Client names cannot contain spaces, newlines or special characters, nor be over 64 bytes";
        return Err(Refusal::invalid(message));
    }
    name.clone_into(&mut session.name);
    Ok(())
}

pub(super) fn client(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let subcommand = words.get(1).unwrap_or_default().to_ascii_uppercase();
    match (&*subcommand, words.len()) {
        (b"ID", 2) => session.out.number(session.number),
        (b"GETNAME", 2) if session.name.is_empty() => session.out.null(),
        (b"GETNAME", 2) => session.out.bulk(&session.name),
        (b"SETNAME", 3) => {
            set_name(session, words.get(2).unwrap_or_default())?;
            session.out.simple("OK");
        }
        // What library it is: nobody asks.
        (b"SETINFO", 4) | (b"NO-EVICT" | b"NO-TOUCH", 3) => session.out.simple("OK"),
        (b"TRACKING" | b"CACHING", _) => {
            // It begins as Redis' own refusal, by which clients know what a server lacks.
            let message = "unknown subcommand: each reply is a new id, so none may be kept by a client; turn its client-side \
                           caching off";
            return Err(Refusal::invalid(message));
        }
        _ => {
            let message = "unknown subcommand or wrong number of arguments: CLIENT ID, GETNAME, SETNAME and SETINFO are";
            return Err(Refusal::invalid(format!("{message} allowed")));
        }
    }
    Ok(())
}

/// `CONFIG GET name`: tools ask for settings of Redis, most of which there are none of.
pub(super) fn config(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    let out = &mut session.out;
    let is_get = words
        .get(1)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"GET"));
    if !is_get {
        return Err(Refusal::invalid(
            "unknown subcommand: CONFIG GET is allowed",
        ));
    }
    // `redis-benchmark` shows these two.
    match words.get(2).map(<[u8]>::to_ascii_lowercase).as_deref() {
        Some(name @ b"save") => pair(name, b"", out),
        Some(name @ b"appendonly") => pair(name, b"no", out),
        _ => out.map(0),
    }
    Ok(())
}

fn pair(name: &[u8], value: &[u8], out: &mut Replies) {
    out.map(1);
    out.bulk(name);
    out.bulk(value);
}

/// `INFO`, whatever section is asked for
pub(super) async fn info(session: &mut RespSession) -> Answered {
    session
        .hold(LINE * session.service.spaces().count())
        .await?;
    let principal = session.principal()?;
    let text = info_text(session, &principal);
    session.out.bulk(text.as_bytes());
    Ok(())
}

fn info_text(session: &RespSession, principal: &Principal) -> String {
    let service = &session.service;
    // ioredis asks for INFO before anything else, and waits while `loading` is not 0.
    let mut text = format!(
        "# Server\r\nserver_name:randflake\r\nredis_version:{REDIS_VERSION}\r\nrandflake_version:{}\r\n\
         redis_mode:standalone\r\narch_bits:{}\r\nprocess_id:{}\r\nuptime_in_seconds:{}\r\n\r\n\
         # Persistence\r\nloading:0\r\n\r\n\
         # Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n\
         # Cluster\r\ncluster_enabled:0\r\n\r\n",
        env!("CARGO_PKG_VERSION"),
        usize::BITS,
        process::id(),
        service.uptime().as_secs(),
    );
    // A string takes all that is written.
    if service.is_admin_of_all(principal) {
        // What all clients do together.
        let (connections, counters) = (&service.counters.resp, &service.counters);
        let parts = session.account.memory().parts();
        _ = write!(
            text,
            // `redis-cli --stat` shows a field that is missing as the lowest number there is.
            "# Clients\r\nconnected_clients:{}\r\nblocked_clients:0\r\n\r\n\
             # Memory\r\nused_memory:{}\r\nmaxmemory:{}\r\n\r\n\
             # Stats\r\ntotal_connections_received:{}\r\nrejected_connections:{}\r\n\
             total_commands_processed:{}\r\n\r\n",
            connections.open.get(),
            parts.iter().map(|part| part.used).sum::<usize>(),
            parts.iter().map(|part| part.limit).sum::<usize>(),
            connections.accepted.get(),
            connections.refused.get(),
            counters.resp_answers.total(),
        );
    }
    text.push_str("# Namespaces\r\n");
    for space in service.spaces_of(principal) {
        let is_ready = space.health().is_some_and(|health| health.is_ready());
        _ = write!(
            text,
            "namespace_{}:ready={}",
            space.name(),
            u8::from(is_ready)
        );
        if principal.has(Scope::Admin) {
            _ = write!(text, ",issued={}", space.issued.get());
        }
        text.push_str("\r\n");
    }
    text
}
