//! The counter of a namespace's name.

use super::Mysql;
use super::read::{continuity, is_used};
use super::session::{FAULT, hex, missing, one_of};
use crate::lease::StoreError;
use crate::ledger::{CounterBackend, CounterRecord, CounterView};

const MARK: &str = "counter";

type Header = (
    Option<u32>,
    Option<String>,
    Option<bool>,
    Option<String>,
    String,
    Option<u64>,
    Option<String>,
);

impl CounterBackend for Mysql {
    fn read_counter(&mut self) -> Result<CounterView, StoreError> {
        let name = self.namespace.name().to_owned();
        self.read_with(0, async |session| {
            let question = format!(
                "SELECT @randflake_session, CONCAT(t.known, '/', s.id), t.known = s.fingerprint, {FAULT},
                    @@GLOBAL.read_only, c.next_number, c.vouched
                FROM (SELECT {} AS known) t JOIN randflake_store s LEFT JOIN randflake_counter c ON c.name = '{name}'",
                session.server
            );
            let mut header: Header = session.one(&question).await?;
            let mut is_unused = false;
            if header.5.is_none() {
                // What is used was there before, so only if it is still missing afterwards it was lost.
                let answers = session.send(&[format!("SELECT {}", is_used(MARK, &name)), question]).await?;
                (is_unused,) = one_of(&answers, 0).map(|(is_used,): (bool,)| (!is_used,))?;
                header = one_of(&answers, 1)?;
            }
            let (number, fingerprint, is_same, fault, read_only, next, vouched) = header;
            session.check_number(number)?;
            let mut continuity = continuity(fingerprint, fault, &read_only)?;
            let record = next.zip(vouched).map(|(next, vouched)| CounterRecord { next, vouched });
            continuity.is_absence_certain = is_unused && is_same == Some(true);
            Ok(CounterView { record, continuity })
        })
    }

    fn commit_counter(
        &mut self,
        before: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<bool, StoreError> {
        if before == Some(after) {
            return Ok(true);
        }
        let name = self.namespace.name().to_owned();
        let CounterRecord { next, vouched } = after;
        let vouched = hex(vouched.as_bytes());
        let write = before.map_or_else(
            || {
                format!(
                    "INSERT INTO randflake_counter VALUES ('{name}', {next}, {vouched})
                    ON DUPLICATE KEY UPDATE name = name"
                )
            },
            |before| {
                format!(
                    "UPDATE randflake_counter SET next_number = {next}, vouched = {vouched}
                    WHERE name = '{name}' AND next_number = {} AND vouched = {}",
                    before.next,
                    hex(before.vouched.as_bytes())
                )
            },
        );
        self.write_with(0, async |session| {
            let mut statements = before.map_or_else(Vec::new, |_| session.mark(MARK, &name));
            statements.push(write.clone());
            let answers = session.send(&statements).await?;
            let written = answers.last().ok_or_else(missing)?;
            Ok(written.affected == 1)
        })
        .map(|written| written.unwrap_or(false))
    }
}
