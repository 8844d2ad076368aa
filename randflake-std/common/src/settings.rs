//! Files of settings, of lines with words `NAME=VALUE`: tokens and namespaces.

use core::fmt::Display;
use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use randflake_std::private_file;

/// Largest file of settings in bytes: 100,000 tokens. A longer one, such as a device that never
/// ends, is refused.
const MOST: u64 = 16 << 20;

/// Reads a file of settings. A user who may write it, or put another one in its place, takes any
/// right here.
pub fn read(path: &Path, what: &str) -> Result<(String, Metadata), String> {
    let opened = private_file::open_settings(path);
    let (file, found) = opened.map_err(|refusal| format!("{what}, {refusal}"))?;
    let mut text = String::new();
    let wrong = |problem: &dyn Display| format!("{what}, {}: {problem}", path.display());
    let read = file.take(MOST + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(&error))?;
    // Cut, its last line might lose what restricts a token, and be one all the same.
    if text.len() as u64 > MOST {
        return Err(wrong(&"it is longer than the 16 MiB that are read"));
    }
    Ok((text, found))
}

/// The lines that say something, with their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The words of a line.
#[derive(Debug)]
pub struct KeyValues(Vec<(String, String)>);

impl KeyValues {
    /// Splits a line.
    pub fn read(line: &str) -> Result<Self, String> {
        let mut words: Vec<(String, String)> = Vec::new();
        for word in line.split_ascii_whitespace() {
            let (name, value) = word.split_once('=').ok_or_else(|| {
                // It may be a secret that stands in the wrong place.
                "a line has words NAME=VALUE with spaces between them, and one word has no '='"
                    .to_owned()
            })?;
            // Of two values either might be meant, and the other one might be the stricter limit.
            if words.iter().any(|(other, _)| other == name) {
                return Err(format!("{name:?} stands there twice"));
            }
            words.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self(words))
    }

    /// Takes the value of a word, if it is there.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes the value of a word that must be there.
    pub fn needed(&mut self, name: &str) -> Result<String, String> {
        self.take(name).ok_or_else(|| format!("{name} is missing"))
    }

    /// Refuses words that nobody has taken.
    pub fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{name:?} is unknown")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{MOST, read};

    #[test]
    fn a_file_that_is_too_long_is_refused_and_not_cut() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let longest = usize::try_from(MOST).unwrap();
        file.write_all(&vec![b'#'; longest]).unwrap();
        assert_eq!(read(file.path(), "tokens").unwrap().0.len(), longest);
        file.write_all(b"#").unwrap();
        let refused = read(file.path(), "tokens").unwrap_err();
        assert!(refused.contains("longer than the 16 MiB"), "{refused}");
    }
}
