//! A ring of pages in the plainest words, by rules that may be exchanged: what each is for shows in
//! what breaks without it.

use embedded_storage_async::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};
use randflake_core::{AsyncHorizonStore, HorizonRecord};

/// What a ring does wrong; nothing by default.
#[expect(clippy::struct_excessive_bools, reason = "each may be so by itself")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flaws {
    /// Pages that do not show their seal stay as they are, so that one may show it later.
    pub(crate) leaves_unsealed: bool,
    /// A page counts without a seal behind its head.
    pub(crate) has_no_seals: bool,
    /// What was written is not read back.
    pub(crate) reads_nothing_back: bool,
    /// A boot goes on behind the last record that it sees.
    pub(crate) trusts_blank: bool,
    /// A boot writes the seal of the highest head again, and goes on in its page.
    pub(crate) repairs_seal: bool,
    /// After a page could not be begun, the one behind is.
    pub(crate) moves_on: bool,
}

#[derive(Debug)]
pub(crate) struct Ring<F, const SLOT: usize> {
    flash: F,
    pages: u32,
    horizon: u32,
    is_durable: bool,
    sealed: Vec<bool>,
    page: u32,
    /// The next slot of the page, or 0 if it is to be begun.
    slot: u32,
    flaws: Flaws,
}

type Answer = Result<(), NorFlashErrorKind>;

impl<F: MultiwriteNorFlash, const SLOT: usize> Ring<F, SLOT> {
    const SLOTS: u32 = bytes(F::ERASE_SIZE / SLOT);

    const fn address(page: u32, slot: u32) -> u32 {
        page * bytes(F::ERASE_SIZE) + slot * bytes(SLOT)
    }

    pub(crate) async fn open(flash: F, flaws: Flaws) -> Option<Self> {
        let pages = u32::try_from(flash.capacity() / F::ERASE_SIZE).ok()?;
        let mut ring = Self {
            flash,
            pages,
            horizon: 0,
            is_durable: false,
            sealed: Vec::new(),
            page: 0,
            slot: 0,
            flaws,
        };
        let mut kept = None;
        for page in 0..pages {
            let head = ring.record(page, 0).await;
            let seal = ring.record(page, 1).await;
            let is_sealed = head.is_some() && (seal.is_some() || flaws.has_no_seals);
            ring.sealed.push(is_sealed);
            let mut last = 0;
            let mut highest = head;
            if is_sealed {
                for slot in 1..Self::SLOTS {
                    let record = ring.record(page, slot).await;
                    if record.is_some() {
                        last = slot;
                    }
                    highest = highest.max(record);
                }
            }
            ring.horizon = ring.horizon.max(highest.unwrap_or(0));
            kept = kept.max(head.map(|head| (is_sealed, head, page, last)));
        }
        if let Some((is_sealed, head, page, last)) = kept {
            ring.page = (page + 1) % pages;
            if flaws.trusts_blank && last + 1 < Self::SLOTS {
                (ring.page, ring.slot) = (page, last + 1);
            }
            if flaws.repairs_seal && !is_sealed {
                let seal = HorizonRecord::new(head)?;
                if ring.write(page, 1, seal).await.is_ok() {
                    (ring.page, ring.slot) = (page, 2);
                }
            }
        }
        Some(ring)
    }

    async fn record(&mut self, page: u32, slot: u32) -> Option<u32> {
        let mut bytes = [0; SLOT];
        let at = Self::address(page, slot);
        self.flash.read(at, &mut bytes).await.ok()?;
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a slot"));
        let record = HorizonRecord::from_words([word(0), word(4)])?;
        Some(record.unix_s())
    }

    async fn write(&mut self, page: u32, slot: u32, record: HorizonRecord) -> Answer {
        let mut bytes = [0xff; SLOT];
        bytes[..8].copy_from_slice(&record.to_bytes());
        let at = Self::address(page, slot);
        let failed = |_| NorFlashErrorKind::Other;
        self.flash.write(at, &bytes).await.map_err(failed)?;
        if !self.flaws.reads_nothing_back {
            let mut shown = [0; SLOT];
            self.flash.read(at, &mut shown).await.map_err(failed)?;
            if shown != bytes {
                return Err(NorFlashErrorKind::Other);
            }
        }
        Ok(())
    }

    async fn erase(&mut self, page: u32) -> Answer {
        let (at, end) = (Self::address(page, 0), Self::address(page + 1, 0));
        let erased = self.flash.erase(at, end).await;
        erased.map_err(|_| NorFlashErrorKind::Other)?;
        // Blank for certain, which is as good as sealed.
        self.sealed[page as usize] = true;
        Ok(())
    }

    async fn erase_unsealed(&mut self) -> Answer {
        let kept = (self.page + self.pages - 1) % self.pages;
        for page in (0..self.pages).filter(|page| *page != kept) {
            if !self.sealed[page as usize] {
                self.erase(page).await?;
            }
        }
        Ok(())
    }

    async fn begin(&mut self, record: HorizonRecord) -> Answer {
        let page = self.page;
        self.erase(page).await?;
        self.write(page, 0, record).await?;
        if !self.flaws.has_no_seals {
            self.write(page, 1, record).await?;
        }
        if !self.flaws.leaves_unsealed {
            self.erase_unsealed().await?;
        }
        Ok(())
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> AsyncHorizonStore for Ring<F, SLOT> {
    type Error = NorFlashErrorKind;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    async fn raise(&mut self, to: u32) -> Answer {
        if to <= self.horizon && self.is_durable {
            return Ok(());
        }
        let record =
            HorizonRecord::new(to.max(self.horizon + 1)).ok_or(NorFlashErrorKind::Other)?;
        let next = (self.page + 1) % self.pages;
        if self.slot == 0 {
            let begun = self.begin(record).await;
            if self.flaws.moves_on && begun.is_err() {
                self.page = next;
            }
            begun?;
            self.slot = 1 + u32::from(!self.flaws.has_no_seals);
        } else {
            // What was touched is never written again: unless this is done, the next page is begun.
            let slot = core::mem::take(&mut self.slot);
            let page = core::mem::replace(&mut self.page, next);
            self.write(page, slot, record).await?;
            (self.page, self.slot) = (page, slot + 1);
        }
        if self.slot == Self::SLOTS {
            (self.page, self.slot) = (next, 0);
        }
        self.horizon = record.unix_s();
        self.is_durable = true;
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most a page")]
const fn bytes(size: usize) -> u32 {
    size as u32
}
