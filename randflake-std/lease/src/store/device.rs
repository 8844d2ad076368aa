//! The operations on a device's record.

use super::fresh::fresh;
use super::records::Records;
use super::{LeaseStore, Reading};
use crate::rules::device::decide;
use crate::rules::{Before, DeviceRecord, Entry, Form, Key, Keys};
use crate::vocabulary::{Device, DeviceError, DeviceRequest, EngineError, KeyCheck, StoreError};

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
        let (_, nonce) = fresh().map_err(EngineError::unavailable)?;
        let keys = [Keys::One(Key::Namespace), Keys::One(Key::Device(device_id))];
        self.ready()?.update(&keys, |records, reading| {
            let (namespace, before) = records.device_of(device_id, asked, reading)?;
            let device = before.as_ref().map(|record| &record.device);
            let device = decide(device_id, device, asked)?;
            // Without entries nothing is written, so a look costs one read.
            if *asked == DeviceRequest::Look {
                return Ok((Vec::new(), device));
            }
            let after = DeviceRecord {
                device,
                nonce,
                form: before
                    .as_ref()
                    .map_or_else(Form::default, |it| it.form.clone()),
            };
            // Unchanged, but compared: a drop or an upgrade in between makes this write stale.
            let guard = Entry {
                key: Key::Namespace,
                before: Before::Text(namespace),
                after: None,
            };
            let update = Entry {
                key: Key::Device(device_id),
                before: Before::read(before.map(|record| record.to_text())),
                after: Some(after.to_text()),
            };
            Ok((vec![guard, update], after.device))
        })
    }
}

/// Refuses devices in a namespace of tagged UUIDs, which they do not issue.
pub(super) fn check_form(seal: Option<KeyCheck>) -> Result<(), StoreError> {
    if seal.and_then(KeyCheck::number).is_none() {
        return Ok(());
    }
    let why = "devices issue no tagged UUIDs, which are the ids of this namespace: use another namespace for them";
    Err(StoreError::Invalid(why.to_owned()))
}

impl Records {
    /// The namespace's text, and the device's record.
    fn device_of(
        &self,
        device_id: u64,
        asked: &DeviceRequest<'_>,
        mut reading: Reading,
    ) -> Result<(String, Option<DeviceRecord>), StoreError> {
        let name = self.namespace.name();
        let Some(namespace) = reading.texts.remove(&Key::Namespace) else {
            let what = format!("there is no namespace {name:?} yet");
            let refused = self.refused(&what, "create it first, with `randflake lease init`");
            return Err(refused.into());
        };
        // Whoever may not read the namespace's record writes nothing in it; and a drop has removed all devices.
        let stored = self.namespace_of(&namespace)?;
        stored.check_dropped()?;
        if *asked != DeviceRequest::Look {
            check_form(stored.terms.seal)?;
        }
        let record = reading.texts.get(&Key::Device(device_id)).map(|text| {
            DeviceRecord::from_text(text, self.knows)
                .map_err(|why| self.refused(&format!("device {device_id:016x}"), &why))
        });
        Ok((namespace, record.transpose()?))
    }
}
