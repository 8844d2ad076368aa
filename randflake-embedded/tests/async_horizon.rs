//! Horizons through drivers that are waited for leave the same in flash as through drivers that
//! block.

use core::future::{Future, poll_fn};
use core::ops::Range;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embedded_storage::nor_flash as blocking;
use embedded_storage_async::nor_flash as waiting;
use randflake_core::{AsyncHorizonStore, Blocks, HorizonStore, Lease, Randflake};
use randflake_embedded::{FlashHorizon, FlashPart, FlashPartError};

const PAGE: usize = 64;
/// The pages of the horizon.
const PART: Range<u32> = 64..256;

/// What both drivers change.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Memory {
    bytes: [u8; 5 * PAGE],
    /// How many writes and erases are done before the driver fails.
    left: u32,
}

#[derive(Debug, PartialEq, Eq)]
struct Failed;

impl blocking::NorFlashError for Failed {
    fn kind(&self) -> blocking::NorFlashErrorKind {
        blocking::NorFlashErrorKind::Other
    }
}

impl Memory {
    fn new() -> Self {
        Self {
            bytes: [0xff; 5 * PAGE],
            left: u32::MAX,
        }
    }

    fn part(&mut self, at: u32, len: usize) -> &mut [u8] {
        &mut self.bytes[at as usize..][..len]
    }

    fn change(&mut self, at: u32, bytes: &[u8]) -> Result<(), Failed> {
        self.left = self.left.checked_sub(1).ok_or(Failed)?;
        let old = self.part(at, bytes.len());
        old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
        Ok(())
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        self.left = self.left.checked_sub(1).ok_or(Failed)?;
        self.part(from, (to - from) as usize).fill(0xff);
        Ok(())
    }
}

struct Blocking<'a>(&'a mut Memory);
struct Waiting<'a>(&'a mut Memory);

impl blocking::ErrorType for Blocking<'_> {
    type Error = Failed;
}

impl blocking::ErrorType for Waiting<'_> {
    type Error = Failed;
}

impl blocking::ReadNorFlash for Blocking<'_> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Failed> {
        bytes.copy_from_slice(self.0.part(at, bytes.len()));
        Ok(())
    }

    fn capacity(&self) -> usize {
        5 * PAGE
    }
}

impl blocking::NorFlash for Blocking<'_> {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        self.0.erase(from, to)
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Failed> {
        self.0.change(at, bytes)
    }
}

/// What a driver waits for: it is pending once.
async fn busy() {
    let mut was_asked = false;
    poll_fn(|_| {
        let poll = if was_asked {
            Poll::Ready(())
        } else {
            Poll::Pending
        };
        was_asked = true;
        poll
    })
    .await;
}

impl waiting::ReadNorFlash for Waiting<'_> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Failed> {
        busy().await;
        bytes.copy_from_slice(self.0.part(at, bytes.len()));
        Ok(())
    }

    fn capacity(&self) -> usize {
        5 * PAGE
    }
}

impl waiting::NorFlash for Waiting<'_> {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        busy().await;
        self.0.erase(from, to)
    }

    async fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Failed> {
        busy().await;
        self.0.change(at, bytes)
    }
}

fn answer<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut context) {
            return answer;
        }
    }
}

/// Boots that fail after some writes, with each kind of driver: afterwards the same is in flash.
fn both_leave_the_same(
    blocking: impl Fn(&mut Memory, u32) -> Option<u32>,
    waiting: impl Fn(&mut Memory, u32) -> Option<u32>,
) {
    let (mut one, mut other) = (Memory::new(), Memory::new());
    for boot in 0..200_u32 {
        let left = if boot % 3 == 0 {
            boot / 3 % 7
        } else {
            u32::MAX
        };
        (one.left, other.left) = (left, left);
        let raises = 1 + boot % 5;
        assert_eq!(
            blocking(&mut one, raises),
            waiting(&mut other, raises),
            "{boot}"
        );
        assert_eq!(one, other, "{boot}");
    }
}

#[test]
fn a_log_in_flash() {
    both_leave_the_same(
        |memory, raises| {
            let mut horizon =
                FlashHorizon::<_>::open(FlashPart::new(Blocking(memory), PART).ok()?).ok()?;
            for _ in 0..raises {
                let to = HorizonStore::unix_s(&horizon) + 60;
                HorizonStore::raise(&mut horizon, to).ok()?;
            }
            Some(HorizonStore::unix_s(&horizon))
        },
        |memory, raises| {
            answer(async {
                let part = FlashPart::new_async(Waiting(memory), PART).ok()?;
                let open = FlashHorizon::<_>::open_async(part).await;
                let mut horizon = open.ok()?;
                for _ in 0..raises {
                    let to = AsyncHorizonStore::unix_s(&horizon) + 60;
                    AsyncHorizonStore::raise(&mut horizon, to).await.ok()?;
                }
                Some(AsyncHorizonStore::unix_s(&horizon))
            })
        },
    );
}

#[test]
fn blocks_of_a_store_that_is_waited_for() {
    let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
    let mut memory = Memory::new();
    let mut used = 100;
    for boot in 0..10 {
        let part = FlashPart::new_async(Waiting(&mut memory), PART).unwrap();
        let open = answer(FlashHorizon::<_>::open_async(part));
        let mut blocks = Blocks::new(grant, open.unwrap());
        if boot == 0 {
            answer(blocks.provision_async()).unwrap();
        }
        let lease = answer(blocks.begin_async(None)).unwrap();
        assert!(lease.start() >= used);
        used = lease.end();
    }
    assert!(used >= 700);
    let outside = memory.bytes[..PAGE].iter().chain(&memory.bytes[4 * PAGE..]);
    assert!(outside.into_iter().all(|byte| *byte == 0xff));
}

#[test]
fn a_part_that_is_waited_for_has_bounds() {
    let mut memory = Memory::new();
    let refused = FlashPart::new_async(Waiting(&mut memory), 64..384).map(drop);
    assert_eq!(refused, Err(FlashPartError::OutOfBounds));
    let mut part = FlashPart::new_async(Waiting(&mut memory), PART).unwrap();
    let read = answer(waiting::ReadNorFlash::read(&mut part, 185, &mut [0; 8]));
    assert_eq!(read, Err(FlashPartError::OutOfBounds));
    let written = answer(waiting::NorFlash::write(&mut part, 4, &[0; 8]));
    assert_eq!(written, Err(FlashPartError::NotAligned));
    assert_eq!(
        answer(waiting::NorFlash::erase(&mut part, 0, 256)),
        Err(FlashPartError::OutOfBounds)
    );
    assert_eq!(
        answer(waiting::NorFlash::write(&mut part, 8, &[0; 8])),
        Ok(())
    );
    assert_eq!(memory.bytes[72..80], [0; 8]);
}
