//! Files of lines, each of words `NAME=VALUE`: tokens and namespaces.

/// The lines that say something, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The words of a line.
#[derive(Debug)]
pub(super) struct KeyValues(Vec<(String, String)>);

impl KeyValues {
    pub(super) fn read(line: &str) -> Result<Self, String> {
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

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.swap_remove(at).1)
    }

    pub(super) fn needed(&mut self, name: &str) -> Result<String, String> {
        self.take(name).ok_or_else(|| format!("{name} is missing"))
    }

    /// Refuses words that nobody has taken.
    pub(super) fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{name:?} is unknown")),
        }
    }
}
