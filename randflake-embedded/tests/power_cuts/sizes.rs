//! Every size of word and page, under cuts at random moments; and flash that wears out unnoticed.

use randflake_core::HorizonStore;
use randflake_embedded::{NorHorizon, NorHorizonError};

use crate::worn::Flash;

/// How a device has lived.
#[derive(Debug, Default)]
struct Life {
    promised: u32,
    tried: u32,
    raises: u32,
    /// Raises that were not written, though there was power.
    not_written: u32,
    cuts: u32,
}

impl Life {
    /// One boot: compares with what was promised, and raises until the power is cut.
    fn boot<const WORD: usize, const PAGE: usize, const SLOT: usize>(
        &mut self,
        flash: &mut Flash<WORD, PAGE>,
        fuel: u32,
        raises: u32,
    ) {
        flash.boot(fuel);
        let more = 1 + flash.below(100);
        let mut horizon = NorHorizon::<_, SLOT>::open(flash).unwrap();
        assert!(horizon.unix_s() >= self.promised, "forgotten: {self:?}");
        assert!(horizon.unix_s() <= self.tried, "invented: {self:?}");
        for _ in 0..raises {
            let to = horizon.unix_s() + more;
            self.tried = self.tried.max(to.next_multiple_of(4));
            match horizon.raise(to) {
                Ok(()) => {
                    self.promised = horizon.unix_s();
                    self.raises += 1;
                }
                Err(NorHorizonError::NotWritten) => self.not_written += 1,
                Err(_) => {
                    self.cuts += 1;
                    return;
                }
            }
        }
    }
}

/// Through both pages and more, with a cut now and then, and some in a row.
fn lives<const WORD: usize, const PAGE: usize, const SLOT: usize>() {
    let mut flash = Flash::<WORD, PAGE>::new(1, 0);
    let mut life = Life::default();
    let slots = u32::try_from(PAGE / SLOT).unwrap();
    let words = u32::try_from(SLOT / WORD).unwrap();
    while life.raises < 5 * slots {
        let fuel = words * flash.below(2 * slots);
        life.boot::<WORD, PAGE, SLOT>(&mut flash, fuel, slots);
        for _ in 0..flash.below(5) {
            let fuel = flash.below(4 * words + 1);
            life.boot::<WORD, PAGE, SLOT>(&mut flash, fuel, 4);
        }
    }
    assert!(life.cuts > 5 && life.not_written == 0, "{life:?}");
}

macro_rules! sizes {
    ($($name:ident: $word:literal, $slot:literal, [$($page:expr),*];)*) => {$(
        #[test]
        fn $name() {
            $(lives::<$word, { $page }, $slot>();)*
        }
    )*};
}

sizes! {
    words_of_1_byte: 1, 8, [32, 256, 4_096, 131_072];
    words_of_4_bytes: 4, 8, [32, 1_024, 2_048, 131_072];
    words_of_8_bytes: 8, 8, [32, 64, 2_048, 131_072];
    words_of_16_bytes: 16, 16, [64, 8_192, 131_072];
    words_of_32_bytes: 32, 32, [128, 8_192, 131_072];
    slots_longer_than_a_word: 4, 16, [64, 2_048];
}

#[test]
fn what_a_record_cannot_hold_is_refused_and_changes_nothing() {
    let mut flash = Flash::<4, 1_024>::new(1, 0);
    flash.boot(1_000);
    let mut horizon = NorHorizon::<_>::open(&mut flash).unwrap();
    horizon.raise(u32::MAX - 4).unwrap();
    let highest = horizon.unix_s();
    for beyond in [highest + 1, u32::MAX] {
        assert_eq!(horizon.raise(beyond), Err(NorHorizonError::OutOfRange));
    }
    let horizon = NorHorizon::<_>::open(&mut flash).unwrap();
    assert_eq!(horizon.unix_s(), highest);
}

/// Bits die as pages are written again and again, and the driver says nothing. Until nothing can be written any more,
/// what was answered is not forgotten.
#[test]
fn worn_flash_forgets_nothing() {
    let (mut not_written, mut raises) = (0, 0);
    for device in 0..200 {
        let mut flash = Flash::<4, 128>::new(device, 200);
        let mut life = Life::default();
        for _ in 0..300 {
            let fuel = if flash.below(3) == 0 {
                flash.below(40)
            } else {
                1_000
            };
            life.boot::<4, 128, 8>(&mut flash, fuel, 5);
        }
        not_written += life.not_written;
        raises += life.raises;
    }
    assert!(
        raises > 50_000 && not_written > 1_000,
        "{raises}, {not_written}"
    );
}
