//! Linux: the page of the device `vmclock`, as `include/uapi/linux/vmclock-abi.h` of Linux 7.0 lays
//! it out.

use core::sync::atomic::AtomicU64;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

const DEVICE: &str = "/dev/vmclock0";
const PAGE_SIZE: usize = 4096;

/// The magic number `VCLK`, little-endian.
const MAGIC: [u8; 4] = 0x4b4c_4356_u32.to_le_bytes();
/// Offset of the field `flags`.
const FLAGS: usize = 24;
/// The flag `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT` of the page.
const HAS_GENERATION: u64 = 1 << 8;
/// Offset of the field `vm_generation_counter`, the last one.
const GENERATION: usize = 104;
const LENGTH: usize = GENERATION + size_of::<u64>();

/// The number in the device's page, in the byte order of the page: it is only compared.
pub(super) fn map() -> Result<&'static AtomicU64, io::Error> {
    map_file(Path::new(DEVICE))
}

fn map_file(path: &Path) -> Result<&'static AtomicU64, io::Error> {
    let explain = |error: io::Error| {
        let text = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), text)
    };
    let mut device = File::open(path).map_err(explain)?;
    // What cannot be mapped whole would end the process when it is looked at.
    let mut page = [0; LENGTH];
    device.read_exact(&mut page).map_err(|error| {
        let is_short = error.kind() == ErrorKind::UnexpectedEof;
        explain(if is_short { short() } else { error })
    })?;
    check(&page).map_err(explain)?;
    page::map(&device).map_err(explain)
}

fn short() -> io::Error {
    let text =
        format!("shorter than the {LENGTH} bytes that a vmclock with a generation number has");
    io::Error::new(ErrorKind::InvalidData, text)
}

fn check(page: &[u8; LENGTH]) -> Result<(), io::Error> {
    if !page.starts_with(&MAGIC) {
        let text = format!(
            "begins with {:02x?}, not with {MAGIC:02x?}: no vmclock",
            &page[..4]
        );
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    let mut flags = [0; 8];
    flags.copy_from_slice(&page[FLAGS..FLAGS + 8]);
    if u64::from_le_bytes(flags) & HAS_GENERATION == 0 {
        let text = "the hypervisor maintains no generation number (bit 8 of flags is 0)";
        return Err(io::Error::new(ErrorKind::Unsupported, text));
    }
    Ok(())
}

#[expect(unsafe_code, reason = "mapping a page is the kernel's interface")]
mod page {
    use core::ptr;
    use core::sync::atomic::AtomicU64;
    use std::fs::File;
    use std::io;

    use rustix::mm::{MapFlags, ProtFlags, mmap};

    use super::{GENERATION, PAGE_SIZE};

    pub(super) fn map(device: &File) -> Result<&'static AtomicU64, io::Error> {
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let page = unsafe {
            mmap(
                ptr::null_mut(),
                PAGE_SIZE,
                // The hypervisor alone writes the page, and the device was opened to read.
                ProtFlags::READ,
                MapFlags::SHARED,
                device,
                0,
            )
        }?;
        // SAFETY: the number is inside the page.
        let number = unsafe { page.byte_add(GENERATION) };
        // SAFETY: the mapping is aligned to a page and the number to 8 bytes in it; it is never
        // unmapped; the hypervisor writes it whole, and this process only loads it, relaxed, as
        // `Generation` alone reaches it.
        Ok(unsafe { AtomicU64::from_ptr(number.cast()) })
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn page(flags: u64) -> Vec<u8> {
        let mut page = vec![0; PAGE_SIZE];
        page[..4].copy_from_slice(b"VCLK");
        page[FLAGS..FLAGS + 8].copy_from_slice(&flags.to_le_bytes());
        page[GENERATION..LENGTH].copy_from_slice(&7_u64.to_le_bytes());
        page
    }

    fn error(page: &[u8]) -> (ErrorKind, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vmclock0");
        fs::write(&path, page).unwrap();
        let error = map_file(&path).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn the_number_is_seen_when_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vmclock0");
        fs::write(&path, page(HAS_GENERATION)).unwrap();
        let number = map_file(&path).unwrap();
        assert_eq!(u64::from_le(number.load(Ordering::Relaxed)), 7);
        let device = File::options().write(true).open(&path).unwrap();
        device
            .write_all_at(&8_u64.to_le_bytes(), GENERATION as u64)
            .unwrap();
        assert_eq!(u64::from_le(number.load(Ordering::Relaxed)), 8);
    }

    #[test]
    fn what_is_no_vmclock_with_a_number_is_refused() {
        let missing = map_file(Path::new("/nowhere/vmclock0")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let (kind, text) = error(&page(1 << 7));
        assert_eq!(kind, ErrorKind::Unsupported);
        assert!(text.contains("maintains no generation number"), "{text}");
        let (kind, text) = error(&[0; PAGE_SIZE]);
        assert_eq!(kind, ErrorKind::InvalidData);
        assert!(text.contains("no vmclock"), "{text}");
        let (kind, text) = error(b"VCLK");
        assert_eq!(kind, ErrorKind::InvalidData);
        assert!(text.contains("shorter than the 112 bytes"), "{text}");
    }
}
