//! A slot of the modelled flash: its content, and what it may read as.

use randflake_core::HorizonRecord;

/// What the firm cells of a slot spell, or one reading of a torn slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Content {
    Blank,
    Seal,
    /// A seal of which a bit has changed, with two raised by an erase that was cut at its start.
    OtherSeal,
    /// The mark of a bad page.
    Mark,
    Record(u32),
    /// Neither blank nor a record.
    Noise,
}

impl Content {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        match self {
            Self::Blank => [0xff; 8],
            Self::Seal => HorizonRecord::SEAL.to_bytes(),
            // Of the seal's 01 and 10 in each two bits, bits 3 and 4 were raised in the first word,
            // and bit 3 fell in the second.
            Self::OtherSeal => [0x1d, 0, 0, 0, 0xf2, 0xff, 0xff, 0xff],
            Self::Mark => HorizonRecord::BAD_PAGE.to_bytes(),
            Self::Record(unix_s) => HorizonRecord::new(unix_s)
                .expect("the model's horizons are small")
                .to_bytes(),
            Self::Noise => [0x5a; 8],
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a slot"));
        match HorizonRecord::from_words([word(0), word(4)]) {
            Some(HorizonRecord::SEAL) => Self::Seal,
            Some(HorizonRecord::BAD_PAGE) => Self::Mark,
            Some(record) => Self::Record(record.unix_s()),
            None if bytes.iter().all(|byte| *byte == 0xff) => Self::Blank,
            None => Self::Noise,
        }
    }
}

/// Cells that a cut left between 0 and 1, which may read as either at each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Torn {
    No,
    /// The zeros of this content, as after a cut write.
    Zeros(Content),
    /// All that are not firmly 0, as after a cut erase that first programs every cell to 0. The
    /// content is the old one.
    All(Content),
}

/// One of the ways in which a slot may read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    Firm,
    Other,
    Noise,
}

/// A slot. `firm` says which cells are 0 for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) firm: Content,
    pub(crate) torn: Torn,
}

impl Slot {
    pub(crate) const BLANK: Self = Self {
        firm: Content::Blank,
        torn: Torn::No,
    };

    /// Everything that a read may return, the firm content first. Between the two ends a torn slot
    /// reads as noise; a record by accident is left to the random model, which counts them.
    pub(crate) fn readings(self) -> &'static [Reading] {
        match (self.torn, self.firm) {
            (Torn::No, _) | (_, Content::Noise) => &[Reading::Firm],
            (Torn::Zeros(other) | Torn::All(other), Content::Blank) if other != self.firm => {
                &[Reading::Firm, Reading::Other, Reading::Noise]
            }
            // Where zeros are firm, nothing else can be spelled over them.
            _ => &[Reading::Firm, Reading::Noise],
        }
    }

    pub(crate) fn read(self, reading: Reading) -> Content {
        match reading {
            Reading::Firm => self.firm,
            Reading::Other => self.other(),
            Reading::Noise => Content::Noise,
        }
    }

    /// The content that a cut write or erase may let reappear.
    fn other(self) -> Content {
        match self.torn {
            Torn::No => self.firm,
            Torn::Zeros(other) | Torn::All(other) => other,
        }
    }

    /// A write that was cut.
    pub(crate) fn tear_write(&mut self, written: Content) {
        let other = self.other().max(written);
        self.torn = match self.torn {
            Torn::All(_) => Torn::All(other),
            // It would have cleared nothing.
            _ if self.firm >= written => return,
            _ => Torn::Zeros(other),
        };
    }

    /// An erase that was cut: with `both_ways` it had begun to program ones to zeros.
    pub(crate) fn tear_erase(&mut self, both_ways: bool) {
        let old = self.other().max(self.firm);
        self.firm = Content::Blank;
        self.torn = match self.torn {
            Torn::All(_) => Torn::All(old),
            _ if both_ways => Torn::All(old),
            _ if old == Content::Blank => Torn::No,
            _ => Torn::Zeros(old),
        };
    }

    /// A write that was completed. It settles its zeros, and nothing else.
    pub(crate) fn write(&mut self, written: Content) {
        let other = self.other();
        self.firm = match (self.firm, written) {
            (held, new) if held == new => held,
            (Content::Blank, new) => new,
            (held, Content::Blank) => held,
            _ => Content::Noise,
        };
        self.torn = match self.torn {
            // The old record has firm zeros in its way where the new one differs.
            Torn::All(_) if self.firm != Content::Blank => Torn::All(self.firm),
            Torn::All(_) => Torn::All(other),
            _ => Torn::No,
        };
    }

    /// Each horizon that it may show.
    pub(crate) fn horizons(self) -> impl Iterator<Item = u32> {
        [self.firm, self.other()]
            .into_iter()
            .filter_map(|content| match content {
                Content::Record(unix_s) => Some(unix_s),
                _ => None,
            })
    }

    pub(crate) fn map_horizons(&mut self, map: impl Fn(u32) -> u32) {
        let map = |content| match content {
            Content::Record(unix_s) => Content::Record(map(unix_s)),
            other => other,
        };
        self.firm = map(self.firm);
        self.torn = match self.torn {
            Torn::No => Torn::No,
            Torn::Zeros(other) => Torn::Zeros(map(other)),
            Torn::All(other) => Torn::All(map(other)),
        };
    }
}
