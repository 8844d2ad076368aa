//! Opening the horizon alone: the records of the kept page are many, or all that it holds. The driver is not counted.
#![no_std]
#![no_main]

size::image! {
    state: FlashHorizon<Part>,
    fn probe() -> Result<FlashHorizon<Part>, FlashHorizonError<Fault>> { FlashHorizon::open(Part) }
    run: {
        let record = |unix_s| expect(HorizonRecord::new(unix_s).ok_or(()));
        // All slots of the first page behind its seal, and then less than half of them.
        for end in [256, 100] {
            expect(Part::provision(record(4)));
            for slot in 2..end {
                expect(Part.write(8 * slot, &record(4 * slot).to_bytes()));
            }
            _ = black_box(expect(probe()));
        }
    }
}
