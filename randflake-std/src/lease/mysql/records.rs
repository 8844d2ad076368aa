//! Texts as they are read and written over a connection.

use mysql_async::Error as SqlError;

use super::failure::is_stale;
use super::session::{Answer, Session, missing, typed};
use super::sql::{self, hex};
use crate::lease::EngineError;
use crate::lease::database::{Failure, Only, pooled, time, window};
use crate::ledger::{Before, Committed, Continuity, Key, Keys, Reading, Write};

/// How long a packet may become before it is sent.
const PACKET: usize = 1 << 20;

/// The setting by which answered writes are lost. In a recovery, what the engine has prepared and the binary log does not
/// have is rolled back.
const FAULT: &str = "IF(@@GLOBAL.innodb_flush_log_at_trx_commit <> 1,
    CONCAT('innodb_flush_log_at_trx_commit=', @@GLOBAL.innodb_flush_log_at_trx_commit),
    IF(@@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1,
        CONCAT('log_bin and sync_binlog=', @@GLOBAL.sync_binlog), NULL))";

/// The clock, the session's number, the fingerprint, whether it is that of the tables' beginning, a fault, and whether the
/// server is read-only.
type Header = (
    i64,
    Option<u32>,
    Option<String>,
    Option<bool>,
    Option<String>,
    String,
);

impl Session {
    /// Reads texts: in one round trip, unless the namespace or the counter is not there.
    pub(super) async fn read(&mut self, name: &str, keys: &[Keys]) -> Result<Reading, Failure> {
        let (reading, _) = self.look(name, keys).await?;
        let is_missing = |key: &Key| used_as(*key).is_some() && !reading.texts.contains_key(key);
        let missing = keys.iter().filter_map(|keys| match keys {
            Keys::One(key) if is_missing(key) => Some(is_used(used_as(*key)?, name)),
            _ => None,
        });
        let uses: Vec<_> = missing.collect();
        if uses.is_empty() {
            return Ok(reading);
        }
        // What is used was there before, so only if it is still missing afterwards it was lost.
        let uses = format!("SELECT {}", uses.join(" OR "));
        let (is_used,): (bool,) = self.one(&uses).await?;
        let (mut reading, is_original) = self.look(name, keys).await?;
        reading.continuity.is_absence_certain = !is_used && is_original;
        Ok(reading)
    }

    /// What is there, and whether the tables are where they were made.
    async fn look(&mut self, name: &str, keys: &[Keys]) -> Result<(Reading, bool), Failure> {
        let clock = self.clock()?;
        let mut statements = vec![format!(
            "SELECT {clock}, @randflake_session, CONCAT(t.known, '/', s.id), t.known = s.fingerprint, {FAULT},
                @@GLOBAL.read_only
            FROM (SELECT {} AS known) t JOIN randflake_store s",
            self.server
        )];
        statements.extend(sql::read(name, keys));
        let mut answers = self.send(&statements).await?.into_iter();
        let header: Option<Header> = answers.next().map_or(Ok(None), |answer| answer.first())?;
        let (unix_us, number, fingerprint, is_original, fault, read_only) =
            header.ok_or_else(missing)?;
        if number != Some(self.number) {
            return Err(Failure::of_the_connection(pooled()));
        }
        let texts: Result<_, _> = answers.flat_map(texts).collect();
        let reading = Reading {
            now: time(unix_us),
            continuity: continuity(fingerprint, fault, &read_only)?,
            texts: texts?,
        };
        Ok((reading, is_original == Some(true)))
    }

    /// The texts of node ids from one on.
    pub(super) async fn list(
        &mut self,
        name: &str,
        first: u32,
        most: usize,
    ) -> Result<Vec<(u32, String)>, Failure> {
        let answers = self.send(&[sql::list(name, first, most)]).await?;
        let nodes = answers.into_iter().flat_map(texts).map(|record| {
            let (key, text) = record?;
            let (_, node_id) = key.numbers();
            Ok((node_id, text))
        });
        nodes.collect()
    }

    /// Writes in one round trip, unless it is too much for a packet.
    pub(super) async fn write(&mut self, name: &str, write: &Write) -> Result<Committed, Failure> {
        let clock = self.clock()?;
        let marks = self.marks(name, write);
        let now = if let Some(only) = Only::of(&write.entries) {
            // What `LAST_INSERT_ID` is given comes with the answer.
            let fit = self.fit(write, &format!("LAST_INSERT_ID({clock})"));
            let update = sql::update(name, &only, &fit);
            let answers = self.send(&[marks, vec![update]].concat()).await;
            let written = self.unless_stale(answers).await?;
            let written = written.and_then(|answers| answers.into_iter().last());
            written
                .filter(|written| written.affected == 1)
                .and_then(|written| written.last_insert_id.try_into().ok())
        } else {
            let fit = self.fit(write, "@randflake_now");
            let transaction = sql::transaction(name, write, &clock, &fit);
            let answers = self.send_all(&[marks, transaction].concat()).await;
            let answers = self.unless_stale(answers).await?.unwrap_or_default();
            let now = answers.iter().find_map(|answer| answer.first().transpose());
            now.transpose()?.map(|(now,): (i64,)| now)
        };
        Ok(now.map_or(Committed::Stale, |unix_us| Committed::Done {
            now: time(unix_us),
        }))
    }

    /// Sends statements in as few packets as may be.
    async fn send_all(&mut self, statements: &[String]) -> Result<Vec<Answer>, SqlError> {
        let mut answers = Vec::new();
        let mut rest = statements;
        while !rest.is_empty() {
            let mut len = 0;
            let fits = rest.iter().take_while(|statement| {
                let is_first = len == 0;
                len += statement.len();
                is_first || len <= PACKET
            });
            let (packet, others) = rest.split_at(fits.count());
            rest = others;
            answers.extend(self.send(packet).await?);
        }
        Ok(answers)
    }

    /// None if others were faster. Then nothing of a transaction remains.
    async fn unless_stale<T>(
        &mut self,
        outcome: Result<T, SqlError>,
    ) -> Result<Option<T>, SqlError> {
        match outcome {
            Err(error) if is_stale(&error) => {
                self.send(&["ROLLBACK"]).await?;
                Ok(None)
            }
            outcome => outcome.map(Some),
        }
    }

    /// As SQL, whether this session and the server are those that a write was decided for, at a time.
    fn fit(&self, write: &Write, now: &str) -> String {
        let Self { number, server, .. } = self;
        let fingerprint = hex(write.fingerprint.as_bytes());
        let (from, to) = window(write);
        format!(
            "@randflake_session = {number} AND {FAULT} IS NULL
            AND (SELECT CONCAT({server}, '/', id) FROM randflake_store) = {fingerprint}
            AND {now} BETWEEN {from} AND {to}"
        )
    }

    /// The statements by which others see until its end that this connection uses what is there, if they are needed.
    fn marks(&mut self, name: &str, write: &Write) -> Vec<String> {
        let there = write
            .entries
            .iter()
            .filter(|entry| matches!(entry.before, Before::Text(_)));
        let mut statements = Vec::new();
        for kind in there.filter_map(|entry| used_as(entry.key)) {
            if !self.marks.contains(&kind) {
                self.marks.push(kind);
                let mark = mark(kind, name, "CONNECTION_ID()");
                statements.push(format!("DO GET_LOCK({mark}, 0)"));
            }
        }
        statements
    }
}

fn texts(answer: Answer) -> impl Iterator<Item = Result<(Key, String), EngineError>> {
    answer.rows.into_iter().map(|row| {
        let (kind, number, value) = typed(row)?;
        sql::record(kind, number, value)
    })
}

/// What the server says of itself; nothing is proven yet of what is not there.
fn continuity(
    fingerprint: Option<String>,
    fault: Option<String>,
    read_only: &str,
) -> Result<Continuity, EngineError> {
    if read_only != "0" && read_only != "OFF" {
        let why = "the server is read-only, as replicas are, and cannot grant anything";
        return Err(EngineError::unavailable(why));
    }
    let fault = fault.map(|fault| {
        let setting = fault
            .split(' ')
            .next_back()
            .and_then(|last| last.split('=').next());
        format!(
            "the MySQL server runs with {fault}, and would forget leases in a crash: set {} to 1",
            setting.unwrap_or_default()
        )
    });
    Ok(Continuity {
        fingerprint: fingerprint.ok_or_else(missing)?,
        fault,
        ..Continuity::default()
    })
}

/// The kind under which users of a key are marked, if they are.
fn used_as(key: Key) -> Option<u8> {
    matches!(key, Key::Namespace | Key::Counter).then(|| key.numbers().0)
}

/// As SQL, whether somebody is connected, as far as this user can see, who has used what is not there: then the tables
/// were emptied or made anew meanwhile.
fn is_used(kind: u8, name: &str) -> String {
    let mark = mark(kind, name, "id");
    format!("EXISTS (SELECT 1 FROM information_schema.processlist WHERE IS_USED_LOCK({mark}) = id)")
}

/// The name of a connection's lock, as SQL.
fn mark(kind: u8, name: &str, id: &str) -> String {
    format!("MD5(CONCAT('randflake/{kind}/{name}/', {id}, '/', DATABASE()))")
}
