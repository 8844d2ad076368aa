//! Records of devices: the owner, and the counter of the last ticket.

use super::Form;
use super::text::{self, Fields, Line};
use crate::types::device::{MAX_COUNTER, MAX_COUNTER_STEP, MAX_OWNER};
use crate::types::{Device, DeviceError, DeviceRequest, StoreError};

/// Stored record of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Owner and counter of the device.
    pub device: Device,
    /// Nonce of the write: two clients that take the same counter would otherwise write the same
    /// text and could not tell whose it was.
    pub nonce: u64,
    /// Versions and tail of this record.
    pub form: Form,
}

impl DeviceRecord {
    /// Encodes the record as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Device {
            owner,
            last_counter,
        } = &self.device;
        let line = Line::of(&self.form).number(*last_counter);
        line.number(self.nonce).text(owner).end()
    }

    /// The record of a text, for a program that knows a version.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        let record = |fields: &mut Fields<'_>| {
            let last_counter = fields.number()?;
            let nonce = fields.number()?;
            let owner = fields.text()?;
            Some(Self {
                device: Device {
                    owner,
                    last_counter,
                },
                nonce,
                form: fields.form(),
            })
        };
        text::read(text, known, record, Self::to_text)
    }
}

/// Decides a request for a device, given its record.
pub(crate) fn decide(
    device_id: u64,
    record: Option<&Device>,
    asked: &DeviceRequest<'_>,
) -> Result<Device, DeviceError> {
    match (*asked, record) {
        (DeviceRequest::Register { owner, reported }, record) => {
            // What is not given stays: an administrator may move a device without knowing its
            // counter.
            let owner = owner.or(record.map(|device| &*device.owner));
            let counter = reported.or(record.map(|device| device.last_counter));
            Ok(Device {
                owner: checked_owner(owner.unwrap_or_default())?.to_owned(),
                // Neither given nor known is refused: with a guess of 0 the device, which accepts
                // no lower counter than its last, would refuse the next tickets.
                last_counter: checked_report(counter.ok_or(DeviceError::Unknown { device_id })?)?,
            })
        }
        (DeviceRequest::New { owner }, None) => Ok(Device {
            owner: checked_owner(owner)?.to_owned(),
            last_counter: 0,
        }),
        (DeviceRequest::New { .. }, Some(_)) => Err(DeviceError::Known { device_id }),
        // An owner is not told whether it is there.
        (
            DeviceRequest::NextTicket {
                owner: Some(owner), ..
            },
            record,
        ) if record.is_none_or(|device| device.owner != owner) => Err(DeviceError::NotOwned {
            device_id,
            owner: owner.to_owned(),
        }),
        (_, None) => Err(DeviceError::Unknown { device_id }),
        (DeviceRequest::Look, Some(device)) => Ok(device.clone()),
        (DeviceRequest::NextTicket { counter, .. }, Some(device)) => {
            let last = device.last_counter;
            // A device accepts no counter above it, and none below its last one: this key is used
            // up.
            if last >= MAX_COUNTER {
                return Err(DeviceError::Exhausted { device_id });
            }
            let counter = counter.unwrap_or(last + 1);
            // Nobody can use up the counters of a device in a few requests: the device would refuse
            // all later tickets.
            let most = last.saturating_add(MAX_COUNTER_STEP).min(MAX_COUNTER);
            if !(last + 1..=most).contains(&counter) {
                return Err(DeviceError::Counter {
                    device_id,
                    counter,
                    last,
                });
            }
            Ok(Device {
                last_counter: counter,
                ..device.clone()
            })
        }
    }
}

fn checked_owner(owner: &str) -> Result<&str, StoreError> {
    if owner.len() <= MAX_OWNER && !owner.contains(char::is_control) {
        return Ok(owner);
    }
    Err(StoreError::Invalid(format!(
        "the device's owner {owner:?} is not allowed: at most {MAX_OWNER} bytes without control characters are"
    )))
}

fn checked_report(counter: u32) -> Result<u32, StoreError> {
    if counter <= MAX_COUNTER {
        return Ok(counter);
    }
    Err(StoreError::Invalid(format!(
        "the device's counter is {counter}: 0 to {MAX_COUNTER} are allowed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::VERSION;

    fn known(last_counter: u32) -> Device {
        Device {
            owner: "a".to_owned(),
            last_counter,
        }
    }

    fn next(last: u32, owner: Option<&str>, counter: Option<u32>) -> Result<u32, String> {
        let asked = DeviceRequest::NextTicket { owner, counter };
        let device = decide(7, Some(&known(last)), &asked);
        device
            .map(|device| device.last_counter)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_counter_rises_by_a_step_at_most() {
        assert_eq!(next(0, None, None), Ok(1));
        assert_eq!(next(5, Some("a"), Some(6)), Ok(6));
        assert_eq!(next(5, None, Some(5 + MAX_COUNTER_STEP)), Ok(1_005));
        for counter in [0, 5, 1_006, MAX_COUNTER, u32::MAX] {
            let told = next(5, Some("a"), Some(counter)).unwrap_err();
            assert!(told.contains("6 to 1005 are allowed after 5"), "{told}");
        }
        assert_eq!(next(MAX_COUNTER - 1, None, None), Ok(MAX_COUNTER));
        let told = next(MAX_COUNTER, None, None).unwrap_err();
        assert!(told.contains("another key of tickets"), "{told}");
    }

    #[test]
    fn foreign_and_unknown_devices_are_refused_alike() {
        let other = next(5, Some("b"), None).unwrap_err();
        let asked = DeviceRequest::NextTicket {
            owner: Some("b"),
            counter: None,
        };
        let none = decide(7, None, &asked).unwrap_err();
        assert_eq!(none.to_string(), other);
        assert!(!other.contains("\"a\""), "{other}");
    }

    #[test]
    fn a_device_is_registered_with_what_it_reports() {
        let register = |record: Option<&Device>, owner, reported| {
            decide(7, record, &DeviceRequest::Register { owner, reported })
        };
        assert!(matches!(
            register(None, Some("a"), None),
            Err(DeviceError::Unknown { device_id: 7 })
        ));
        assert_eq!(register(None, Some("a"), Some(9)).unwrap(), known(9));
        let moved = register(Some(&known(9)), Some("b"), None).unwrap();
        assert_eq!((&*moved.owner, moved.last_counter), ("b", 9));
        assert_eq!(register(Some(&known(9)), None, Some(3)).unwrap(), known(3));
        for (counter, is_allowed) in [(MAX_COUNTER, true), (MAX_COUNTER + 1, false)] {
            assert_eq!(register(None, None, Some(counter)).is_ok(), is_allowed);
        }
        let longest = "a".repeat(MAX_OWNER);
        for (owner, is_allowed) in [
            (&*longest, true),
            (&format!("{longest}a"), false),
            ("a\nb", false),
        ] {
            assert_eq!(register(None, Some(owner), Some(0)).is_ok(), is_allowed);
        }
    }

    #[test]
    fn a_device_is_made_once() {
        let new = |record: Option<&Device>| decide(7, record, &DeviceRequest::New { owner: "a" });
        assert_eq!(new(None).unwrap(), known(0));
        assert!(matches!(
            new(Some(&known(9))),
            Err(DeviceError::Known { .. })
        ));
    }

    #[test]
    fn the_end_is_that_of_tickets() {
        assert_eq!(MAX_COUNTER, randflake_core::Ticket::MAX_COUNTER);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for owner in ["", "shop", "a:b/c@d"] {
            let record = DeviceRecord {
                device: Device {
                    owner: owner.to_owned(),
                    last_counter: 1_005,
                },
                nonce: 7,
                form: Form::default(),
            };
            let text = record.to_text();
            assert_eq!(DeviceRecord::from_text(&text, VERSION), Ok(record));
        }
        for wrong in [
            "",
            "11:7",
            "11:-:7:1:a",
            "11:07:7:1:a",
            "11:7:7:2:a",
            "11:7:7:1:ab",
        ] {
            assert!(DeviceRecord::from_text(wrong, VERSION).is_err(), "{wrong}");
        }
    }
}
