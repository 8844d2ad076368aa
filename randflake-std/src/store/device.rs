//! The operations on a device's record.

use super::fresh::fresh;
use super::{Ask, LeaseStore, Reading};
use crate::rules::device::decide;
use crate::rules::{Before, Committed, DeviceRecord, Entry, Key, Keys, NamespaceRecord, Write};
use crate::vocabulary::{Device, DeviceError, DeviceRequest, EngineError, StoreError};

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

impl LeaseStore {
    /// Reads or writes the record of a device that gets its leases by tickets: whose it is, and the counter of its last
    /// ticket. Returns it as it is now.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; after [`StoreError::Unavailable`] the counter may have been taken: take the next one.
    pub fn device(
        &mut self,
        device_id: u64,
        asked: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        self.ready()?;
        for _ in 0..TRIES {
            let (namespace, before, fingerprint) = self.read_device(device_id)?;
            let device = before.as_ref().map(|record| &record.device);
            let decided = decide(device_id, device, asked);
            let device = decided.inspect_err(|_| self.records.engine().abandon())?;
            if *asked == DeviceRequest::Look {
                self.records.engine().abandon();
                return Ok(device);
            }
            let (_, nonce) = fresh().map_err(EngineError::unavailable)?;
            let form = before.as_ref().map(|record| record.form.clone());
            let after = DeviceRecord {
                device,
                nonce,
                form: form.unwrap_or_default(),
            };
            let committed = self.records.engine().write(&Write {
                fingerprint,
                entries: vec![
                    Entry {
                        key: Key::Namespace,
                        before: Before::Text(namespace),
                        after: None,
                    },
                    Entry {
                        key: Key::Device(device_id),
                        before: Before::read(before.map(|record| record.to_text())),
                        after: Some(after.to_text()),
                    },
                ],
                ..Write::default()
            })?;
            if committed != Committed::Stale {
                return Ok(after.device);
            }
        }
        Err(StoreError::unavailable("other clients of the device were faster each time").into())
    }

    /// The namespace's text, the device's record, and what the engine is known by.
    fn read_device(
        &mut self,
        device_id: u64,
    ) -> Result<(String, Option<DeviceRecord>, String), DeviceError> {
        let keys = [Keys::One(Key::Namespace), Keys::One(Key::Device(device_id))];
        let Reading {
            continuity,
            mut texts,
            ..
        } = self.records.engine().read(&Ask::with_state(&keys))?;
        let place = self.records.profile.place.clone();
        let checked = match (continuity.fault, texts.remove(&Key::Namespace)) {
            (Some(fault), _) => Err(EngineError::unusable(fault)),
            (None, None) => Err(EngineError::unusable(format!(
                "{place}: there is no namespace {:?} yet: create it first, with `randflake lease init`",
                self.records.namespace.name()
            ))),
            (None, Some(namespace)) => {
                let record = texts.remove(&Key::Device(device_id));
                let known = self.records.knows;
                let name = self.records.namespace.name();
                let record = record.map(|text| DeviceRecord::from_text(&text, known));
                // Whoever may not read the namespace's record writes nothing in it.
                match (
                    NamespaceRecord::from_text(&namespace, known),
                    record.transpose(),
                ) {
                    (Ok(_), Ok(record)) => Ok((namespace, record, continuity.fingerprint)),
                    (Err(why), _) => Err(EngineError::unusable(format!(
                        "{place}: the namespace {name:?}: {why}"
                    ))),
                    (_, Err(why)) => Err(EngineError::unusable(format!(
                        "{place}: device {device_id:016x}: {why}"
                    ))),
                }
            }
        };
        Ok(checked.inspect_err(|_| self.records.engine().abandon())?)
    }
}
