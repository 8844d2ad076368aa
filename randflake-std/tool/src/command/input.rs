//! Values from the command line, or else from standard input.

use std::io::{self, ErrorKind, IsTerminal, Read};

use memchr::{memchr_iter, memrchr};
use randflake_std::Id;

use crate::failure::{Failure, say};
use crate::form::TextForm;
use crate::mistake::not_utf8;

/// So many ids are handed on together, or fewer.
pub(crate) const BLOCK: usize = 2_048;
/// Standard input is read in pieces of at most this.
const PIECE: usize = 64 << 10;
/// No id is nearly as long: what is longer is not read.
const LONGEST_LINE: usize = 4 << 10;

/// What is to be shown of ids, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct IdArgs {
    /// Ids; read from standard input, one on each line, when there are none
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,
    /// How the ids are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    from: TextForm,
    /// Print a JSON object for each id
    #[arg(long)]
    pub(crate) json: bool,
}

impl IdArgs {
    pub(crate) fn for_each_block(
        &self,
        each: impl FnMut(&[Id]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for_each_block(&self.ids, self.from, each)
    }
}

/// Reads ids and hands blocks of them on: those given, or when there are none, those on the lines of standard
/// input.
///
/// Nothing is handed on unless all of those given can be read. Standard input may be endless, so the lines
/// that were read are handed on before more are, and all before the first that cannot be read.
pub(crate) fn for_each_block(
    given: &[String],
    form: TextForm,
    each: impl FnMut(&[Id]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if given.is_empty() {
        return InputLines::new(form, each).read();
    }
    let read = |value: &String| {
        form.read(value)
            .map_err(|problem| Failure::usage(format!("{}: {problem}", shown(value))))
    };
    let ids: Result<Vec<_>, _> = given.iter().map(read).collect();
    ids?.chunks(BLOCK).try_for_each(each)
}

struct InputLines<E> {
    form: TextForm,
    each: E,
    /// The number of the last line.
    number: u64,
    /// The number of the first blank line; 0 if there was none.
    blank: u64,
    ids: Vec<Id>,
}

impl<E: FnMut(&[Id]) -> Result<(), Failure>> InputLines<E> {
    fn new(form: TextForm, each: E) -> Self {
        Self {
            form,
            each,
            number: 0,
            blank: 0,
            ids: Vec::with_capacity(BLOCK),
        }
    }

    /// The lines, without the white space around them, numbered from 1. At the end they may be blank.
    fn read(mut self) -> Result<(), Failure> {
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            say("reading ids from the terminal, one on each line; Ctrl-D ends");
        }
        let mut piece = vec![0; PIECE];
        let mut len = 0;
        loop {
            let read = match stdin.read(&mut piece[len..]) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::failed(format!("standard input: {error}"))),
            };
            len += read;
            // The last line may go without an end.
            let whole = match memrchr(b'\n', &piece[..len]) {
                _ if read == 0 => len,
                Some(end) => end + 1,
                None => 0,
            };
            self.lines(&piece[..whole])?;
            if len - whole > LONGEST_LINE {
                self.number += 1;
                return Err(self.too_long());
            }
            if read == 0 {
                return Ok(());
            }
            piece.copy_within(whole..len, 0);
            len -= whole;
        }
    }

    fn lines(&mut self, text: &[u8]) -> Result<(), Failure> {
        let mut start = 0;
        for end in memchr_iter(b'\n', text) {
            self.line(&text[start..end])?;
            start = end + 1;
        }
        if start < text.len() {
            self.line(&text[start..])?;
        }
        self.hand_on()
    }

    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.number += 1;
        // Windows ends lines with two bytes.
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        let id = match self.form.parse(text) {
            Some(id) if line.len() <= LONGEST_LINE => id,
            _ => match self.look_at(line) {
                Ok(Some(id)) => id,
                Ok(None) => {
                    self.blank = if self.blank == 0 {
                        self.number
                    } else {
                        self.blank
                    };
                    return Ok(());
                }
                Err(failure) => {
                    self.hand_on()?;
                    return Err(failure);
                }
            },
        };
        if self.blank != 0 {
            self.hand_on()?;
            return Err(self.is_blank());
        }
        self.ids.push(id);
        if self.ids.len() == BLOCK {
            self.hand_on()?;
        }
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), Failure> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let handed = (self.each)(&self.ids);
        self.ids.clear();
        handed
    }

    /// What a line says that is not plainly an id: nothing when it is blank.
    #[cold]
    fn look_at(&self, line: &[u8]) -> Result<Option<Id>, Failure> {
        if line.len() > LONGEST_LINE {
            return Err(self.too_long());
        }
        let number = self.number;
        let text = match str::from_utf8(line) {
            Ok(text) => text.trim(),
            Err(error) => {
                let problem = not_utf8(line, error.valid_up_to());
                return Err(Failure::usage(format!("line {number}: {problem}")));
            }
        };
        if text.is_empty() {
            return Ok(None);
        }
        let id = self.form.read(text).map_err(|problem| {
            Failure::usage(format!("line {number}: {}: {problem}", shown(text)))
        });
        id.map(Some)
    }

    /// To leave it out would put each id that follows beside another row than its own.
    #[cold]
    fn is_blank(&self) -> Failure {
        Failure::usage(format!(
            "line {}: blank, and ids follow: remove blank lines, as `grep .` does, or the rows without an id",
            self.blank
        ))
    }

    fn too_long(&self) -> Failure {
        Failure::usage(format!(
            "line {}: longer than {LONGEST_LINE} bytes, as no id is",
            self.number
        ))
    }
}

/// As much of a value as tells which it is.
fn shown(value: &str) -> String {
    const MOST: usize = 40;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}
