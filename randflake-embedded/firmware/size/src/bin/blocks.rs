//! Blocks of a grant past that horizon: taking the next, and opening all after a reset. The driver is not counted.
#![no_std]
#![no_main]

type Device = Blocks<Randflake, FlashHorizon<Part>>;

size::image! {
    state: Device,
    fn probe(
        device: &mut Device,
        now: Option<Duration>,
    ) -> Result<Lease<Randflake>, HorizonError<FlashHorizonError<Fault>>> {
        device.begin(now)
    }
    fn probe_open(grant: Lease<Randflake>) -> Result<Device, FlashHorizonError<Fault>> {
        Ok(Device::new(grant, FlashHorizon::open(Part)?))
    }
    run: {
        const FIRST: Option<HorizonRecord> = HorizonRecord::new(START_UNIX_S as u32);
        expect(Part::provision(expect(FIRST.ok_or(()))));
        let mut device = expect(probe_open(lease()));
        for _ in 0..2 {
            expect(probe(black_box(&mut device), black_box(None)));
        }
    }
}
