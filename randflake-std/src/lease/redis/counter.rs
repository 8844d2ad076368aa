//! The counter of a namespace: one more record, without node ids.

use super::Redis;
use super::script::Write;
use crate::lease::StoreError;
use crate::ledger::{
    Continuity, CounterBackend, CounterRecord, CounterView, VERSION, Wanted, newer,
};

impl CounterBackend for Redis {
    fn read_counter(&mut self) -> Result<CounterView, StoreError> {
        let look = self.look("counter", &Wanted::default())?;
        let record = look.record.as_deref().map(from_text).transpose()?;
        let vouched = record.as_ref().map(|record| &*record.vouched);
        let server = look.server.clone().after(vouched);
        let view = CounterView {
            continuity: Continuity {
                fingerprint: server.fingerprint(look.replaced, ""),
                fault: look.fault(),
                ..Continuity::default()
            },
            record,
        };
        self.server = server;
        Ok(view)
    }

    fn commit_counter(
        &mut self,
        before: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<bool, StoreError> {
        let write = Write {
            server: self.server.clone(),
            before: before.map(to_text),
            after: Some(to_text(after)),
            ..Write::default()
        };
        Ok(self.write("counter", &write)?.is_some())
    }
}

fn to_text(record: &CounterRecord) -> String {
    format!("{VERSION}:{}:{}", record.next, record.vouched)
}

fn from_text(text: &str) -> Result<CounterRecord, StoreError> {
    let refused =
        |why: String| StoreError::Unusable(format!("the counter on the Redis server: {why}"));
    let mut parts = text.splitn(3, ':');
    let mut part = || parts.next().unwrap_or_default();
    match part().parse() {
        Ok(VERSION) => {}
        Ok(version) => return Err(refused(newer(version.into()))),
        Err(_) => return Err(refused("it is another program's".to_owned())),
    }
    let next = part().parse();
    let next = next.map_err(|_| refused("it is damaged".to_owned()))?;
    let vouched = part().to_owned();
    Ok(CounterRecord { next, vouched })
}
