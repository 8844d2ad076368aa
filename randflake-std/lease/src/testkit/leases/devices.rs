//! Leases that a server holds for devices, and the tickets that it sends them.

use core::time::Duration;

use crate::secret::Secret;
use crate::store::{DeviceLease, DeviceLeaseError, LeaseStore};
use crate::types::{Device, DeviceError, DeviceRequest, Grant, MAX_COUNTER_STEP};
use randflake_core::{Layout, Lease, TicketError, TicketReader};

use super::{Backend, Eight, TTL, acquire_one, eight, record_of, tick_at, ticks};

const DEVICE: u64 = 0xd0e5;
const KEY: [u8; 16] = *b"a key of tickets";

fn key() -> Secret {
    Secret::from_bytes(KEY)
}

/// When a tick begins.
fn begin(tick: u64) -> Duration {
    Duration::from_millis(Eight::SPEC.unix_ms(tick))
}

/// What the device has after a ticket.
fn accept(reader: &mut TicketReader, ticket: &[u8]) -> Result<Lease<Eight>, TicketError> {
    reader.accept(ticket, &KEY, None)
}

pub fn a_device_is_served_by_one_server_after_the_other(backend: &impl Backend) {
    let mut first = backend.open(&eight("meters")).unwrap();
    let not_leased = first.devices().find(DEVICE).unwrap_err();
    assert!(
        matches!(
            not_leased,
            DeviceLeaseError::NotLeased { device_id: DEVICE }
        ),
        "{not_leased:?}"
    );
    let acquired = first.devices().acquire(DEVICE, ticks(TTL)).unwrap();
    acquire_one(&mut first, 1);
    let other = first.devices().acquire(DEVICE + 1, ticks(TTL)).unwrap();
    let mut reader = TicketReader::new(DEVICE, 0);
    let lease = accept(&mut reader, &acquired.ticket(1, &key()).unwrap()).unwrap();

    backend.pass(ticks(TTL / 2));
    let mut second = backend.open(&eight("meters")).unwrap();
    let mut all = second.devices().leases().unwrap();
    all.sort_by_key(DeviceLease::device_id);
    let grants: Vec<_> = all.iter().map(DeviceLease::grant).collect();
    assert_eq!(grants, [acquired.grant(), other.grant()]);

    let mut found = second.devices().find(DEVICE).unwrap();
    assert_eq!(found.grant(), acquired.grant());
    found.renew(&mut second, ticks(TTL)).unwrap();
    assert!(found.grant().end >= acquired.grant().end + TTL / 2);
    assert_eq!(
        record_of(&mut first, found.grant().node_id).grant,
        *found.grant()
    );
    let replayed = accept(&mut reader, &found.ticket(1, &key()).unwrap());
    assert_eq!(
        replayed,
        Err(TicketError::Replayed {
            counter: 1,
            last: 1
        })
    );
    let longer = accept(&mut reader, &found.ticket(2, &key()).unwrap()).unwrap();
    assert_eq!(
        (longer.node_id(), longer.start()),
        (lease.node_id(), lease.start())
    );
    assert_eq!(longer.end(), found.grant().end);

    // A lease that is over is not renewed, nor found.
    backend.pass(ticks(2 * TTL));
    let over = found.grant().end;
    let lost = found.renew(&mut second, ticks(TTL)).unwrap_err();
    let node_id = found.grant().node_id;
    assert!(
        matches!(lost, DeviceLeaseError::Lost { node_id: id } if id == node_id),
        "{lost:?}"
    );
    assert_eq!(found.grant().end, over);
    assert!(second.devices().find(DEVICE).is_err());
    assert!(second.devices().leases().unwrap().is_empty());
}

pub fn a_released_lease_of_a_device_is_free(backend: &impl Backend) {
    let mut store = backend.open(&eight("meters")).unwrap();
    let leases = [(); 8].map(|()| store.devices().acquire(DEVICE, ticks(TTL)).unwrap());
    let Grant {
        node_id,
        start,
        end,
        ..
    } = *leases[0].grant();
    backend.pass(ticks(10));

    // The device's horizon is within a tick: that one may have been used.
    let [first, ..] = leases;
    let horizon = begin(start + 4) + ticks(1) / 2;
    first.release(&mut store, horizon).unwrap();
    assert_eq!(record_of(&mut store, node_id).grant.end, start + 5);
    let next = store.devices().acquire(DEVICE + 1, ticks(TTL)).unwrap();
    assert_eq!(next.grant().node_id, node_id);
    assert!(next.grant().start >= start + 10);

    // One that was released cannot be renewed, though its end is still to come.
    let second = store.devices().find(DEVICE).unwrap();
    let mut copy = store.devices().find(DEVICE).unwrap();
    second.release(&mut store, begin(end - 20)).unwrap();
    assert_eq!(
        record_of(&mut store, copy.grant().node_id).grant.end,
        end - 20
    );
    let lost = copy.renew(&mut store, ticks(TTL)).unwrap_err();
    assert!(matches!(lost, DeviceLeaseError::Lost { .. }), "{lost:?}");
    let now = tick_at(store.now().unwrap());
    assert!(now < end - 20, "the store's clock stands in this test");
}

fn next(
    store: &mut LeaseStore,
    device: u64,
    owner: &str,
    counter: Option<u32>,
) -> Result<u32, DeviceError> {
    let owner = Some(owner);
    let taken = store
        .devices()
        .request(device, &DeviceRequest::NextTicket { owner, counter })?;
    Ok(taken.last_counter)
}

fn register(
    store: &mut LeaseStore,
    device: u64,
    owner: Option<&str>,
    reported: Option<u32>,
) -> Result<Device, DeviceError> {
    store
        .devices()
        .request(device, &DeviceRequest::Register { owner, reported })
}

pub fn a_device_has_an_owner_and_a_counter(backend: &impl Backend) {
    let mut first = backend.open(&eight("meters")).unwrap();
    acquire_one(&mut first, 1);
    let mut second = backend.open(&eight("meters")).unwrap();
    // Also numbers that a table's signed ones do not have.
    for device in [0, DEVICE, u64::MAX >> 1, 1 << 63, u64::MAX] {
        let unknown = first
            .devices()
            .request(device, &DeviceRequest::Look)
            .unwrap_err();
        assert!(matches!(unknown, DeviceError::Unknown { .. }), "{unknown}");
        // Nobody takes a device by asking first.
        let refused = next(&mut first, device, "a", None).unwrap_err();
        assert!(matches!(refused, DeviceError::NotOwned { .. }), "{refused}");
        register(&mut first, device, Some("a"), Some(0)).unwrap();
        assert_eq!(next(&mut first, device, "a", None).unwrap(), 1);
        assert_eq!(next(&mut second, device, "a", Some(7)).unwrap(), 7);
        // The counter that made the device refuse every ticket.
        for (owner, counter) in [("b", Some(1_073_741_823)), ("b", None), ("", None)] {
            let refused = next(&mut second, device, owner, counter).unwrap_err();
            assert!(matches!(refused, DeviceError::NotOwned { .. }), "{refused}");
        }
        for counter in [7, 8 + MAX_COUNTER_STEP, 1_073_741_823] {
            let refused = next(&mut second, device, "a", Some(counter)).unwrap_err();
            assert!(
                matches!(refused, DeviceError::Counter { last: 7, .. }),
                "{refused}"
            );
        }
        let moved = register(&mut second, device, Some("b"), None).unwrap();
        assert_eq!((&*moved.owner, moved.last_counter), ("b", 7));
        assert!(next(&mut first, device, "a", None).is_err());
        assert_eq!(next(&mut first, device, "b", None).unwrap(), 8);
    }
    // Each is one.
    assert_eq!(
        second
            .devices()
            .request(DEVICE, &DeviceRequest::Look)
            .unwrap()
            .last_counter,
        8
    );
    assert!(register(&mut first, DEVICE + 1, Some("a"), None).is_err());
}

pub fn a_new_device_is_registered_once(backend: &impl Backend) {
    let mut first = backend.open(&eight("meters")).unwrap();
    acquire_one(&mut first, 1);
    let new = |store: &mut LeaseStore, owner| {
        store
            .devices()
            .request(DEVICE, &DeviceRequest::New { owner })
    };
    assert_eq!(new(&mut first, "a").unwrap().last_counter, 0);
    assert_eq!(next(&mut first, DEVICE, "a", Some(7)).unwrap(), 7);
    let mut second = backend.open(&eight("meters")).unwrap();
    let refused = new(&mut second, "b").unwrap_err();
    assert!(matches!(refused, DeviceError::Known { .. }), "{refused}");
    let kept = second
        .devices()
        .request(DEVICE, &DeviceRequest::Look)
        .unwrap();
    assert_eq!((&*kept.owner, kept.last_counter), ("a", 7));
}
