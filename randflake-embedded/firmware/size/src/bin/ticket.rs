//! A lease's ticket, checked and decoded.
#![no_std]
#![no_main]

/// The first of `randflake-core/tests/vectors/tickets.json`: if the image made one itself, it would share code.
const KEY: u128 = 0x3a1b_8978_88a1_927b_b826_4189_3311_985d;
const DEVICE_ID: u64 = 0xcf2a_5448_adc8_2065;
const START_UNIX_S: u64 = 2_300_085_650;
const TICKET: [u64; 4] = [
    0x0101_ff7a_0000_0001,
    DEVICE_ID,
    0x8918_8592_8918_85ce,
    0xd07f_7bd5_feed_304a,
];

size::image! {
    state: TicketReader,
    fn probe(
        reader: &mut TicketReader,
        bytes: &[u8],
        key: &[u8; 16],
        now: Option<Duration>,
    ) -> Result<Lease<Randflake>, TicketError> {
        reader.accept(bytes, key, now)
    }
    run: {
        let bytes = TICKET.map(u64::to_be_bytes);
        let mut reader = TicketReader::new(DEVICE_ID, 0);
        let now = black_box(Some(Duration::from_secs(START_UNIX_S)));
        let (bytes, key) = (black_box(bytes.as_flattened()), KEY.to_be_bytes());
        expect(probe(black_box(&mut reader), bytes, black_box(&key), now));
    }
}
