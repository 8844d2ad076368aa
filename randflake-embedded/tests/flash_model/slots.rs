//! What a slot of the modelled flash holds, and what it may read as.

use randflake_core::HorizonRecord;

/// What the firm cells of a slot spell, or one reading of a torn slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Content {
    Blank,
    Mark,
    Record(u32),
    /// Neither blank nor a record.
    Noise,
}

impl Content {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        match self {
            Self::Blank => [0xff; 8],
            Self::Mark => bytes(HorizonRecord::MARK),
            Self::Record(unix_s) => HorizonRecord::new(unix_s)
                .expect("the model's horizons are small")
                .to_bytes(),
            Self::Noise => [0x5a; 8],
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a slot"));
        let words = [word(0), word(4)];
        match HorizonRecord::from_words(words) {
            Some(record) => Self::Record(record.unix_s()),
            None if words == HorizonRecord::MARK => Self::Mark,
            None if bytes.iter().all(|byte| *byte == 0xff) => Self::Blank,
            None => Self::Noise,
        }
    }
}

fn bytes([first, second]: [u32; 2]) -> [u8; 8] {
    (u64::from(first) | u64::from(second) << 32).to_le_bytes()
}

/// Cells that a cut left between 0 and 1, which may read as either at each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Torn {
    No,
    /// The zeros of this content, as after a cut write.
    Zeros(Content),
    /// All that are not firmly 0, as after a cut erase that first programs every cell to 0. The content is the old one.
    All(Content),
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

    /// Everything that a read may return, the firm content first. Between the two ends a torn slot reads as noise; a
    /// record by accident is left to the random model, which counts them.
    pub(crate) fn readings(self) -> Vec<Content> {
        let (Torn::Zeros(other) | Torn::All(other)) = self.torn else {
            return vec![self.firm];
        };
        let mut readings = vec![self.firm];
        // Once a record's zeros are firm, nothing else can be spelled over them.
        if self.firm < Content::Record(0) && other != self.firm {
            readings.push(other);
        }
        if self.firm != Content::Noise {
            readings.push(Content::Noise);
        }
        readings
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
            (Content::Record(held), Content::Record(new)) if held != new => Content::Noise,
            (held, new) => held.max(new),
        };
        self.torn = match self.torn {
            Torn::Zeros(_) if other > self.firm => Torn::Zeros(other),
            // The old record has firm zeros in its way where the new one differs.
            Torn::All(_) if self.firm >= Content::Record(0) => Torn::All(self.firm),
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
