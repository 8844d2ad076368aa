//! A device boots, asks its real-time clock over the bus, and issues ids; the bus is a mock that
//! knows what to expect.

use core::cell::Cell;
use core::time::Duration;

use ds323x::Ds323x;
use embedded_hal::i2c::ErrorKind;
use embedded_hal_mock::eh1::i2c::{Mock, Transaction};
use i2c_rtc::{ChipError, set_clock, set_rtc};
use randflake_embedded::RtcError;
use randflake_embedded::randflake_core::{
    Clock, Generator, Lease, LocalWord, Monotonic, Randflake, SetClockError, Sparx64, TimeBounds,
    UnixClock,
};

const ADDRESS: u8 = 0x68;
const STATUS: u8 = 0x0f;
const STOPPED: u8 = 0x80;

/// 2024-12-09 01:04:57 UTC, and how the chip shows it: seconds, minutes, hours, weekday, day,
/// month, year.
const NOW: Duration = Duration::from_secs(1_733_706_297);
const REGISTERS: [u8; 7] = [0x57, 0x04, 0x01, 2, 0x09, 0x12, 0x24];

struct Uptime(Cell<Duration>);

impl Monotonic for &Uptime {
    fn uptime(&self) -> Duration {
        self.0.get()
    }
}

fn asked(status: u8, registers: [u8; 7]) -> [Transaction; 2] {
    [
        Transaction::write_read(ADDRESS, vec![STATUS], vec![status]),
        Transaction::write_read(ADDRESS, vec![0], registers.to_vec()),
    ]
}

fn lease() -> Lease<Randflake> {
    Lease::new(Randflake, 42, 3_706_000, 3_707_000).unwrap()
}

/// What the clock shows after it was set from a chip with these registers, by a device whose
/// horizon is at `floor`.
fn shown_after(registers: [u8; 7], floor: Duration) -> Duration {
    let uptime = Uptime(Cell::new(Duration::from_secs(3)));
    let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
    let bounds = TimeBounds::from_horizon(floor).within(&lease());
    let mut bus = Mock::new(&asked(0, registers));
    let mut rtc = Ds323x::new_ds3231(bus.clone());
    assert_eq!(
        set_clock(&mut rtc, &clock, &bounds).unwrap(),
        clock.now().unwrap()
    );
    bus.done();
    clock.now().unwrap()
}

#[test]
fn the_chip_sets_the_clock_which_runs_on_by_itself() {
    let uptime = Uptime(Cell::new(Duration::from_secs(3)));
    let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
    let bounds = TimeBounds::from_horizon(Duration::ZERO).within(&lease());
    let mut bus = Mock::new(&asked(0, REGISTERS));
    let mut rtc = Ds323x::new_ds3231(bus.clone());
    assert_eq!(set_clock(&mut rtc, &clock, &bounds).unwrap(), NOW);

    // No more is asked of the bus, which the mock would say.
    uptime.0.set(Duration::from_secs(8));
    let ids =
        Generator::<Randflake, LocalWord<u32>, _>::new(lease(), &clock, Sparx64::new(&[7; 16]));
    let ids = ids.unwrap();
    let id = ids.generate().unwrap();
    assert_eq!(ids.inspect(id).tick, 3_706_302);
    bus.done();
}

#[test]
fn what_the_chip_tells_is_bounded() {
    let floor = Duration::from_secs(1_733_706_250);
    assert_eq!(shown_after(REGISTERS, floor), NOW);
    let year_2000 = [0, 0, 0, 1, 1, 1, 0];
    assert_eq!(shown_after(year_2000, floor), floor, "behind: the horizon");
    let year_2025 = [0x57, 0x04, 0x01, 2, 0x09, 0x12, 0x25];
    let end = Duration::from_secs(1_730_000_000 + lease().end());
    assert_eq!(
        shown_after(year_2025, floor),
        end,
        "a year ahead: the end of the lease"
    );
}

#[test]
fn a_chip_that_cannot_know_the_time_changes_nothing() {
    let uptime = Uptime(Cell::new(Duration::ZERO));
    let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
    let bounds = TimeBounds::from_horizon(Duration::from_secs(1_733_706_250)).within(&lease());
    let stood_still = Transaction::write_read(ADDRESS, vec![STATUS], vec![STOPPED]);
    let [status, _] = asked(0, REGISTERS);
    let broken = status.clone().with_error(ErrorKind::Other);
    let [_, no_time] = asked(0, [0xff; 7]);
    let mut bus = Mock::new(&[stood_still, broken, status, no_time]);
    let mut rtc = Ds323x::new_ds3231(bus.clone());
    let mut ask = || set_clock(&mut rtc, &clock, &bounds);
    assert!(matches!(ask(), Err(ChipError::Stopped)));
    assert!(matches!(
        ask(),
        Err(ChipError::Rtc(RtcError::Rtc(ds323x::Error::Comm(_))))
    ));
    assert!(matches!(
        ask(),
        Err(ChipError::Rtc(RtcError::Rtc(
            ds323x::Error::InvalidDeviceState
        )))
    ));
    assert_eq!(clock.now(), None);
    bus.done();

    // There are ids all the same, from the horizon on.
    clock.set(bounds.start()).unwrap();
    assert_eq!(clock.now(), Some(Duration::from_secs(1_733_706_250)));
}

#[test]
fn a_trusted_time_sets_the_chip() {
    let mut payload = vec![0];
    payload.extend(REGISTERS);
    let set = Transaction::write(ADDRESS, payload);
    // Bits 0, 1 and 3 are as they were: two alarms, and an output.
    let cleared = Transaction::write(ADDRESS, vec![STATUS, 0x0b]);
    let mut bus = Mock::new(&[set, cleared]);
    let mut rtc = Ds323x::new_ds3231(bus.clone());
    set_rtc(&mut rtc, NOW).unwrap();
    bus.done();

    for never in [Duration::ZERO, Duration::from_secs(4_200_000_000)] {
        let refused = set_rtc(&mut rtc, never);
        assert!(
            matches!(
                refused,
                Err(ChipError::Rtc(RtcError::Rtc(
                    ds323x::Error::InvalidInputData
                )))
            ),
            "{refused:?}"
        );
    }
    for never in [Duration::from_secs(5_000_000_000), Duration::MAX] {
        let refused = set_rtc(&mut rtc, never);
        assert!(
            matches!(
                refused,
                Err(ChipError::Rtc(RtcError::Clock(SetClockError::OutOfRange)))
            ),
            "{refused:?}"
        );
    }
}
