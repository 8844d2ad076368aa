//! The folder of images, and of what a run that was cut had begun.
//!
//! `DEVICE.hex` is an image. It gets that name when it is whole and the ledger has its device. `.DEVICE.begun` has the token of
//! the lease that the device gets; it is there before the lease and goes when the image has come. So whatever moment a run
//! is cut at, the next one knows the lease that is this folder's.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use randflake_std::lease::Token;
use randflake_std::private_file;

use crate::failure::Failure;

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Locked while the run lasts: two runs would both go on with what one has begun.
    _lock: File,
}

impl Folder {
    /// The folder, made if it is not there, for this run alone.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        private_file::create_directory(path)
            .map_err(|refusal| Failure::failed(format!("--out-dir {refusal}")))?;
        let lock = private_file::open(&path.join(".lock")).map_err(Failure::failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Failure::failed(format!(
                "another run writes to {}: wait for its end, or give each station a folder of its own",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(path, &error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn image(&self, device: u64) -> PathBuf {
        self.path.join(format!("{device:016x}.hex"))
    }

    fn begun_path(&self, device: u64) -> PathBuf {
        self.path.join(format!(".{device:016x}.begun"))
    }

    pub(super) fn has_image(&self, device: u64) -> bool {
        self.image(device).exists()
    }

    /// The devices that have an image.
    pub(super) fn devices(&self) -> Result<Vec<u64>, Failure> {
        let mut devices = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(|error| failed(&self.path, &error))? {
            let name = entry
                .map_err(|error| failed(&self.path, &error))?
                .file_name();
            let digits = name.to_str().and_then(|name| name.strip_suffix(".hex"));
            let device = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            // Other files are the operator's.
            devices.extend(device.filter(|device| self.image(*device).ends_with(&name)));
        }
        Ok(devices)
    }

    /// The token of a lease that was begun here, and whose image is not there.
    pub(super) fn begun(&self, device: u64) -> Result<Option<Token>, Failure> {
        let path = self.begun_path(device);
        match fs::read_to_string(&path) {
            Ok(text) => {
                // Without its end it was cut while it was written: no lease was asked for.
                let digits = text.strip_suffix('\n');
                let token = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
                Ok(token.map(|token| Token::from_bytes(token.to_be_bytes())))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Notes durably that a device is begun, and returns the token for its lease.
    pub(super) fn begin(&self, device: u64) -> Result<Token, Failure> {
        let token = Token::random().map_err(Failure::failed)?;
        let path = self.begun_path(device);
        remove(&path)?;
        private_file::write_new(&path, format!("{token}\n").as_bytes())
            .and_then(|()| private_file::sync_name(&path))
            .map_err(|error| failed(&path, &error))?;
        Ok(token)
    }

    /// Writes the image, which gets its name when it is whole.
    pub(super) fn finish(&self, device: u64, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let image = self.image(device);
        let draft = self.path.join(format!(".{device:016x}.draft"));
        remove(&draft)?;
        private_file::write_new(&draft, bytes)
            .and_then(|()| fs::rename(&draft, &image))
            .and_then(|()| private_file::sync_name(&image))
            .map_err(|error| failed(&image, &error))?;
        self.give_up(device)?;
        Ok(image)
    }

    /// Forgets that a device was begun.
    pub(super) fn give_up(&self, device: u64) -> Result<(), Failure> {
        remove(&self.begun_path(device))
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}
