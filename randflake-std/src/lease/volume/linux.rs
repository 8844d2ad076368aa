//! The magic numbers are those of Linux's `include/uapi/linux/magic.h`; of CIFS and SMB2
//! `fs/smb/client/cifsglob.h`.

use std::path::Path;

use super::Kind;

const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;
const OVERLAYFS: u64 = 0x794c_7630;
const NFS: u64 = 0x6969;
const CIFS: u64 = 0xff53_4d42;
const SMB2: u64 = 0xfe53_4d42;

pub(super) fn kind(path: &Path) -> Kind {
    let found = path
        .parent()
        .and_then(|directory| rustix::fs::statfs(directory).ok());
    // Its type differs between processors.
    #[expect(clippy::cast_sign_loss, reason = "a bit pattern")]
    let magic = found.map(|found| found.f_type as u64 & 0xffff_ffff);
    match magic {
        Some(TMPFS | RAMFS) => Kind::Memory,
        Some(OVERLAYFS) => Kind::Container,
        Some(NFS | CIFS | SMB2) => Kind::Network,
        _ => Kind::Other,
    }
}
