//! Secrets: the 16 bytes that make ids unpredictable.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::hint::black_box;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use randflake_core::{Feistel53, Sparx64};
use zeroize::Zeroizing;

use crate::private_file::{self, FileRefusal, Readers, RefusalReason};

const LEN: usize = 16;
const HEX_LEN: usize = 2 * LEN;
/// Longer than any hexadecimal secret with the white space around it.
const MAX_FILE_LEN: u16 = 256;

/// A 16-byte secret. Wiped on drop, never shown.
///
/// ```
/// use randflake_lease::Secret;
///
/// let secret = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?;
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// # Ok::<(), randflake_lease::SecretError>(())
/// ```
// In a box, since a value that moves leaves a copy behind.
pub struct Secret(Box<Zeroizing<[u8; LEN]>>);

impl Secret {
    /// Takes 16 bytes as the secret; they should be random. The caller's own copy is the caller's
    /// to wipe.
    #[must_use]
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self::of(&Zeroizing::new(bytes))
    }

    fn of(bytes: &[u8; LEN]) -> Self {
        let mut secret = Self::blank();
        secret.0.copy_from_slice(bytes);
        secret
    }

    /// Where a secret is to be written.
    fn blank() -> Self {
        Self(Box::new(Zeroizing::new([0; LEN])))
    }

    /// Reads 32 hexadecimal digits, of either case.
    ///
    /// # Errors
    ///
    /// [`SecretError::Hex`] for anything else.
    pub fn from_hex(hex: &str) -> Result<Self, SecretError> {
        if hex.len() != HEX_LEN {
            return Err(SecretError::Hex {
                len: hex.chars().count(),
            });
        }
        let mut secret = Self::blank();
        let (pairs, _) = hex.as_bytes().as_chunks();
        let mut all_digits = 0;
        for (byte, pair) in secret.0.iter_mut().zip(pairs) {
            let [high, low] = pair.map(digit_value);
            all_digits |= high | low;
            *byte = (high << 4 | low).to_le_bytes()[0];
        }
        // Once for all of them: where the first wrong one is would be seen in the time.
        if black_box(all_digits) < 0 {
            return Err(SecretError::Hex {
                len: hex.chars().count(),
            });
        }
        Ok(secret)
    }

    /// Reads a file of 32 hexadecimal digits, with or without a newline.
    ///
    /// On Unix its owner is this process's user or root, and only the owner may read or write it
    /// (mode 0600 or 0400), with two exceptions for secrets that are mounted: root's file may be
    /// readable by a group (0640 or 0440), as with the `fsGroup` of a Kubernetes pod or systemd's
    /// credentials; and a file in a read-only mount by all (0444 or 0644), as Kubernetes and Docker
    /// mount it unless told otherwise. The last shows it to every user of the container: set
    /// `defaultMode: 0440` and `fsGroup`.
    ///
    /// The path may contain links. The same users must own them and their directories, and others
    /// must not be able to write to the directories, unless they are sticky.
    ///
    /// # Errors
    ///
    /// [`SecretError::File`] if the file cannot be read, or owner or mode is wrong,
    /// [`SecretError::Hex`] for other contents.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SecretError> {
        Self::from_file_with_readers(path.as_ref()).map(|(secret, _)| secret)
    }

    /// Reads the file as [`from_file`](Secret::from_file) does, and returns who may read it: a
    /// program may warn of a group.
    ///
    /// # Errors
    ///
    /// As for [`from_file`](Secret::from_file).
    pub fn from_file_with_readers(path: &Path) -> Result<(Self, Readers), SecretError> {
        let (file, readers) = private_file::open_key(path)?;
        // A file of another kind is refused by its first bytes, however long it is.
        // Where it grows, it would leave a copy behind that nothing wipes.
        let mut text = Zeroizing::new(String::with_capacity(2 * usize::from(MAX_FILE_LEN)));
        file.take(MAX_FILE_LEN.into())
            .read_to_string(&mut text)
            .map_err(|error| FileRefusal::io(path, error))?;
        Ok((Self::from_hex(text.trim())?, readers))
    }

    /// Reads 32 hexadecimal digits from an environment variable.
    ///
    /// # Errors
    ///
    /// [`SecretError::Unset`] if it is not set, [`SecretError::Hex`] for other contents.
    pub fn from_env(name: impl AsRef<OsStr>) -> Result<Self, SecretError> {
        let name = name.as_ref();
        let Some(value) = std::env::var_os(name) else {
            return Err(SecretError::Unset {
                name: name.to_string_lossy().into_owned(),
            });
        };
        // Lossy is enough: what is not Unicode has no 32 hexadecimal digits, and is refused by
        // `from_hex`.
        let value = Zeroizing::new(value.to_string_lossy().into_owned());
        Self::from_hex(value.trim())
    }

    /// Makes a new secret from the operating system's random source.
    ///
    /// # Errors
    ///
    /// [`SecretError::Random`] if the operating system has none.
    pub fn generate() -> Result<Self, SecretError> {
        let mut secret = Self::blank();
        getrandom::fill(secret.0.as_mut_slice())
            .map_err(|error| SecretError::Random(error.into()))?;
        Ok(secret)
    }

    /// Derives another secret from this one and a name: always the same one, and neither reveals
    /// the other.
    ///
    /// Two namespaces under one secret issue equal ids, because each leases its own node ids. To
    /// keep a single secret for several namespaces, derive one for each with its name. It is the
    /// first 16 bytes of HKDF-SHA256 (RFC 5869) without salt, with `randflake/` and the name as
    /// `info`.
    ///
    /// ```
    /// use randflake_lease::Secret;
    ///
    /// let secret = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?;
    /// assert_eq!(secret.derive("orders").to_hex().as_str(), "1341ac56b184b111b3e0b5bb4f9519eb");
    /// assert_ne!(secret.derive("orders"), secret.derive("users"));
    /// # Ok::<(), randflake_lease::SecretError>(())
    /// ```
    ///
    /// [Typed ids](randflake_core::Id) need no separate secrets if one handle generates all of
    /// them: no two of its ids are equal. With a namespace per kind, derive the secret with the
    /// kind's prefix, as `keygen --derive user` does:
    ///
    /// ```
    /// use randflake_core::{Kind, typed_id};
    /// use randflake_lease::Secret;
    ///
    /// struct User { id: UserId }
    /// typed_id!(UserId = Id<User>, "user");
    ///
    /// let secret = Secret::generate()?;
    /// let secret_of_users = secret.derive(User::PREFIX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn derive(&self, name: &str) -> Self {
        self.expand(&[b"randflake/", name.as_bytes()])
    }

    /// The first 16 bytes of HKDF-SHA256 without salt.
    #[expect(clippy::expect_used, reason = "HKDF-SHA256 gives up to 8,160 bytes")]
    pub(crate) fn expand(&self, info: &[&[u8]]) -> Self {
        let mut derived = Self::blank();
        wiped_after(|| {
            hkdf::Hkdf::<sha2::Sha256>::new(None, self.bytes())
                .expand_multi_info(info, derived.0.as_mut_slice())
                .expect("16 bytes are fewer");
        });
        derived
    }

    /// Writes the secret to a new file that only its owner may read, as 32 hexadecimal digits and a
    /// newline.
    ///
    /// # Errors
    ///
    /// [`SecretError::File`] if the file already exists or cannot be written.
    pub fn write_new(&self, path: impl AsRef<Path>) -> Result<(), SecretError> {
        let path = path.as_ref();
        let line = Zeroizing::new(format!("{}\n", self.to_hex().as_str()));
        let written = private_file::write_new(path, line.as_bytes());
        Ok(written.map_err(|error| FileRefusal::io(path, error))?)
    }

    /// Returns the secret in hexadecimal, to hand it to its user.
    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
        let mut hex = Zeroizing::new(String::with_capacity(HEX_LEN));
        for byte in self.bytes() {
            hex.push(digit(byte >> 4));
            hex.push(digit(byte & 0xF));
        }
        hex
    }

    /// Returns the cipher under this secret. It is wiped on drop, but what moves leaves a copy
    /// behind: `Builder::encrypted` leaves none.
    #[must_use]
    pub fn cipher(&self) -> Sparx64 {
        Sparx64::new(self.bytes())
    }

    /// Returns the permutation of ids of 53 bits under this secret, for
    /// [`Randflake53`](randflake_core::Randflake53). It is wiped on drop, but what moves leaves a
    /// copy behind.
    ///
    /// Its key is derived: the first 16 bytes of HKDF-SHA256 (RFC 5869) without salt, with
    /// `randflake53` as `info`. No name of [`derive`](Secret::derive) gives the same, and 64-bit
    /// ids under this secret have nothing in common with these.
    ///
    /// ```
    /// use randflake_core::{Id53, Permutation};
    /// use randflake_lease::Secret;
    ///
    /// let secret = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?;
    /// assert_eq!(secret.feistel53().permute(1), 3_752_481_143_921_803);
    /// assert!(secret.feistel53().permute(1) <= Id53::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn feistel53(&self) -> Feistel53 {
        Feistel53::new(self.key53().cipher())
    }

    /// Returns the key of [`feistel53`](Secret::feistel53), for what takes a key instead of a
    /// secret: firmware, and functions in a database. It is a secret of 53-bit ids alone: nothing
    /// of this one follows from it.
    #[must_use]
    pub fn key53(&self) -> Self {
        self.expand(&[b"randflake53"])
    }

    /// Makes in a box what holds the cipher under this secret, and leaves no copy of it.
    pub fn boxed<T>(&self, make: impl FnOnce(Sparx64) -> T) -> Box<T> {
        wiped_after(|| Box::new(make(self.cipher())))
    }

    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

/// The value of a hexadecimal digit of either case, or -1. It takes no branch and no table: the
/// digit is secret.
fn digit_value(digit: u8) -> i16 {
    let digit = i16::from(digit);
    // Both differences are negative for a digit in between, so that their sign fills the mask.
    let within = |before: u8, behind: u8| {
        ((i16::from(before) - digit) & (digit - i16::from(behind))) >> (i16::BITS - 1)
    };
    let number = within(b'/', b':') & (digit - i16::from(b'0') + 1);
    let upper = within(b'@', b'G') & (digit - i16::from(b'A') + 11);
    let lower = within(b'`', b'g') & (digit - i16::from(b'a') + 11);
    number + upper + lower - 1
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        Self::of(self.bytes())
    }
}

/// Compares two secrets in constant time.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.bytes().iter().zip(other.bytes());
        // All bytes are looked at, and the compiler is kept from ending the loop at the first
        // difference.
        black_box(pairs.fold(0, |differing, (a, b)| differing | (a ^ b))) == 0
    }
}

impl Eq for Secret {}

impl Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Error of reading, making or writing a secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum SecretError {
    /// The text is not 32 hexadecimal digits.
    Hex {
        /// Number of characters of the text.
        len: usize,
    },
    /// The file cannot be read or written, or other users may read or replace it.
    File(FileRefusal),
    /// The environment variable is not set.
    Unset {
        /// Name of the variable.
        name: String,
    },
    /// The operating system has no random numbers.
    Random(io::Error),
}

impl Display for SecretError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hex { len: HEX_LEN } => {
                write!(f, "the secret has a character other than 0-9, a-f and A-F")
            }
            Self::Hex { len } => {
                write!(
                    f,
                    "the secret has {len} characters: {HEX_LEN} hexadecimal digits are allowed"
                )?;
                if *len != LEN {
                    return Ok(());
                }
                write!(
                    f,
                    "; of a secret of {LEN} bytes of text, as other packages of Randflake take it, they are what \
                     `printf %s TEXT | xxd -p` prints"
                )
            }
            Self::File(refusal) => {
                // The other reasons may be those of a link or a directory.
                let is_of_file = matches!(
                    refusal.reason,
                    RefusalReason::Io(_) | RefusalReason::Readable { .. }
                );
                let colon = if is_of_file { "" } else { ":" };
                write!(f, "secret file{colon} {refusal}")
            }
            Self::Unset { name } => write!(f, "the environment variable {name} is not set"),
            Self::Random(source) => {
                write!(f, "the operating system has no random numbers: {source}")
            }
        }
    }
}

impl Error for SecretError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File(refusal) => refusal.source(),
            Self::Random(source) => Some(source),
            Self::Hex { .. } | Self::Unset { .. } => None,
        }
    }
}

impl From<FileRefusal> for SecretError {
    fn from(refusal: FileRefusal) -> Self {
        Self::File(refusal)
    }
}

/// More than anything here takes: hashing by HKDF, and a cipher's table that is moved a few times.
const STACK_LEN: usize = 16 * 1024;

/// Runs what has secrets in its frames, then overwrites these. What it returns must not be secret
/// itself: a box, for instance.
pub(crate) fn wiped_after<T>(run: impl FnOnce() -> T) -> T {
    let result = in_own_frame(run);
    overwrite();
    result
}

/// Not inlined: else its frame would be a part of the caller's, which is not overwritten.
#[inline(never)]
fn in_own_frame<T>(run: impl FnOnce() -> T) -> T {
    run()
}

/// Takes the same place as the frames before.
#[inline(never)]
fn overwrite() {
    // Somebody may read it, as far as the compiler knows: so it writes all of the zeros.
    black_box(&mut [0_u64; STACK_LEN / 8]);
}

#[cfg(test)]
mod tests {
    use super::{Secret, digit_value};

    #[test]
    fn digits_have_the_values_of_the_standard_library() {
        for byte in 0..=u8::MAX {
            let expected = char::from(byte).to_digit(16);
            assert_eq!(u32::try_from(digit_value(byte)).ok(), expected, "{byte}");
        }
    }

    #[test]
    fn every_bit_is_compared() {
        let bytes = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128;
        let secret = |bytes: u128| Secret::from_bytes(bytes.to_be_bytes());
        assert_eq!(secret(bytes), secret(bytes));
        for bit in 0..128 {
            assert_ne!(secret(bytes), secret(bytes ^ (1 << bit)));
        }
    }
}
