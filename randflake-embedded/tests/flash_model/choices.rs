//! All that may happen in a run, one run after the other, and the hasher of the places that were
//! seen.

use core::cell::RefCell;
use core::hash::{BuildHasherDefault, Hasher};

/// A run asks at each turn which way to go. The first run takes the first way everywhere; each next
/// run another way at the last turn that has one left.
#[derive(Debug, Default)]
pub(crate) struct Choices(RefCell<Path>);

#[derive(Debug, Default)]
struct Path {
    /// The way that is taken at each turn, and how many there are.
    turns: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    /// Takes these ways, and then the first everywhere.
    pub(crate) fn along(taken: Vec<usize>) -> Self {
        // How many ways there are does not matter to a run that nothing follows.
        let turns = taken.into_iter().map(|way| (way, 0)).collect();
        Self(RefCell::new(Path { turns, at: 0 }))
    }

    /// One of so many, from 0.
    pub(crate) fn one_of(&self, ways: usize) -> usize {
        let mut path = self.0.borrow_mut();
        let at = path.at;
        path.at += 1;
        if at == path.turns.len() {
            path.turns.push((0, ways));
        }
        let (way, known) = path.turns[at];
        assert!(
            known == ways || known == 0,
            "a run depends on more than its choices"
        );
        way
    }

    /// The ways taken so far in this run, as a number.
    pub(crate) fn place(&self) -> u64 {
        let path = self.0.borrow();
        let mut hasher = Mixer::default();
        for (way, _) in &path.turns[..path.at] {
            hasher.write_usize(*way);
        }
        hasher.finish()
    }

    /// The ways taken so far in this run.
    pub(crate) fn taken(&self) -> Vec<usize> {
        let path = self.0.borrow();
        path.turns[..path.at].iter().map(|(way, _)| *way).collect()
    }

    /// Whether there is another run.
    pub(crate) fn next_run(&self) -> bool {
        let mut path = self.0.borrow_mut();
        path.at = 0;
        while let Some((way, ways)) = path.turns.pop() {
            if way + 1 < ways {
                path.turns.push((way + 1, ways));
                return true;
            }
        }
        false
    }
}

/// For maps whose keys are trusted.
pub(crate) type BuildMixer = BuildHasherDefault<Mixer>;

/// A hasher for millions of small keys, of which none is chosen to collide.
#[derive(Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // Texts come in short pieces: a copy of some bytes by a call takes longer than this.
            let shifted = |word, byte: &u8| word << 8 | u64::from(*byte);
            self.write_u64(rest.iter().rfold(0, shifted));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    /// A step of `MurmurHash3`'s finalizer, so that each bit reaches all others.
    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(5) ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ (mixed >> 33);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
