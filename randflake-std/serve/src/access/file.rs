//! The file of tokens: its lines, and how it is read and replaced.

use core::fmt::{self, Display, Formatter};
use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_common::failure::Failure;
use randflake_common::settings::{self, KeyValues};
use randflake_std::date::utc;
use randflake_std::private_file;
use randflake_std::unstable::rules::newer;

use super::principal::{Principal, Scope, TokenLine};
use super::quota::{PerQuota, QuotaKind};
use super::secret::{Hash, is_token};

/// The first line of a file, which says its version. A file without it has this version, too.
pub(crate) const VERSION_LINE: &str = "version=1";

/// The tokens of a file, found by their hashes and names.
#[derive(Default)]
pub(super) struct Tokens {
    by_hash: HashMap<Hash, Arc<Principal>>,
    /// Of two of one name the one that does not expire.
    by_name: HashMap<String, Arc<Principal>>,
}

impl Tokens {
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<Principal>> {
        self.by_hash.values()
    }

    pub(super) fn find(&self, hash: &Hash) -> Option<&Arc<Principal>> {
        self.by_hash.get(hash)
    }

    /// Reads the file. A token that was there before keeps what is left of its quotas; those of one
    /// name share them.
    pub(super) fn parse(text: &str, before: &Self) -> Result<Self, String> {
        let mut tokens = Self::default();
        for (index, (number, line)) in settings::lines(text).enumerate() {
            let wrong = |problem: String| format!("line {number}: {problem}");
            // Before the words are read, of which a later version may have others.
            if line.starts_with("version=") {
                check_version(line, index == 0).map_err(wrong)?;
                continue;
            }
            if line.split_ascii_whitespace().any(is_token) {
                return Err(wrong(
                    "a token itself stands there, and the file has its SHA-256 alone: make another one with `randflake token \
                     new --file`, which writes the line, and remove this one"
                        .to_owned(),
                ));
            }
            tokens
                .add(line.parse().map_err(wrong)?, before)
                .map_err(wrong)?;
        }
        Ok(tokens)
    }

    fn add(&mut self, line: TokenLine, before: &Self) -> Result<(), String> {
        let namesake = self.by_name.get(&line.name);
        // Otherwise two clients with one name would share leases, devices and quotas without
        // anybody's wish.
        if line.until.is_none() && namesake.is_some_and(|namesake| !namesake.expires()) {
            return Err(format!(
                "the name {:?} is used twice: each token needs its own; of two lines of one name, all but the last need \
                 until=, as `randflake token rotate` writes it",
                line.name
            ));
        }
        if let Some(other) = self.find(&line.hash) {
            return Err(format!("this is also the token of {:?}", other.name()));
        }
        // A rotated token, or one with other rights, is the same client: it goes on with what is
        // left of the quotas. Lines of this file first: the two of a rotation share one quota from
        // the first reading on.
        let old = namesake
            .or_else(|| before.find(&line.hash))
            .or_else(|| before.by_name.get(&line.name));
        let is_main = line.until.is_none() || namesake.is_none();
        let (name, hash) = (line.name.clone(), line.hash);
        let principal = Arc::new(Principal::new(line, old.map(|old| &**old)));
        if is_main {
            self.by_name.insert(name, Arc::clone(&principal));
        }
        self.by_hash.insert(hash, principal);
        Ok(())
    }
}

fn check_version(line: &str, is_first: bool) -> Result<(), String> {
    if !is_first {
        return Err("the version must be in the first line".to_owned());
    }
    if line == VERSION_LINE {
        return Ok(());
    }
    let version = line
        .strip_prefix("version=")
        .and_then(|version| version.parse().ok());
    Err(match version {
        Some(version) => newer(version, 1),
        None => format!("{line:?} is no version: {VERSION_LINE} is allowed"),
    })
}

/// Checks that a text is a valid file of tokens.
pub(crate) fn check(text: &str) -> Result<(), String> {
    Tokens::parse(text, &Tokens::default()).map(drop)
}

impl FromStr for TokenLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = KeyValues::read(text)?;
        let hash = words.needed("sha256")?;
        let hash = Hash::from_hex(&hash).ok_or_else(|| {
            "sha256 must be the 64 hex digits that `randflake token new` printed".to_owned()
        })?;
        let mut quotas = PerQuota::default();
        for (quota, (kind, _)) in quotas.iter_mut().zip(QuotaKind::ALL) {
            *quota = limit(words.take(&format!("{kind}_per_second")))?;
        }
        let line = Self {
            quotas,
            name: name(&words.needed("name")?)?,
            hash,
            scopes: list(&words.needed("scopes")?, |text| {
                let mut scopes = Scope::ALL.into_iter();
                scopes.find(|scope| scope.name() == text).ok_or_else(|| {
                    format!("{text:?} is no scope: ids, leases, inspect and admin are")
                })
            })?,
            namespaces: list(&words.needed("namespaces")?, str::parse)?,
            until: words.take("until").map(|text| until(&text)).transpose()?,
            node_ids: words
                .take("node_ids")
                .map(|text| node_ids(&text))
                .transpose()?,
        };
        // A word that is not known may be a limit, misspelt: the token would have more rights than
        // was meant.
        words.end()?;
        Ok(line)
    }
}

/// A token's name, which stands in the log and before its leases.
pub fn name(text: &str) -> Result<String, String> {
    // No colon, which stands behind it in a holder's name, and nothing that a log or a file of
    // words would have to escape.
    let mut characters = text.chars();
    if (1..=64).contains(&text.len())
        && characters.all(|c| c.is_ascii_alphanumeric() || "-_.@/".contains(c))
    {
        return Ok(text.to_owned());
    }
    Err(format!(
        "the name {text:?} is not allowed: 1 to 64 of a-z, A-Z, 0-9, '-', '_', '.', '@' and '/' are"
    ))
}

/// The first and the last node id that a token may lease.
pub fn node_ids(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().ok();
    match number(first).zip(number(last)) {
        Some((first, last)) if first <= last => Ok(first..=last),
        _ => Err(format!(
            "{text:?} is no range of node ids: the first and the last one are allowed, such as 0-99"
        )),
    }
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(read).collect()
}

fn until(text: &str) -> Result<Duration, String> {
    let unix_ms = randflake_common::date::unix_ms(text).map(Duration::from_millis);
    unix_ms.ok_or_else(|| {
        format!("until is {text:?}: a date such as 2026-12-31 or 2026-12-31T09:30:00Z is allowed")
    })
}

fn limit(text: Option<String>) -> Result<Option<NonZeroU64>, String> {
    let Some(text) = text else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(format!(
            "{text:?} is no quota: a number from 1 on is allowed"
        )),
    }
}

impl Display for TokenLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scopes: Vec<_> = self.scopes.iter().map(|scope| scope.name()).collect();
        let namespaces: Vec<_> = self.namespaces.iter().map(ToString::to_string).collect();
        let (scopes, namespaces) = (scopes.join(","), namespaces.join(","));
        write!(
            f,
            "name={} sha256={} scopes={scopes} namespaces={namespaces}",
            self.name, self.hash
        )?;
        for (limit, (kind, _)) in self.quotas.iter().zip(QuotaKind::ALL) {
            if let Some(limit) = limit {
                write!(f, " {kind}_per_second={limit}")?;
            }
        }
        if let Some(until) = self.until {
            write!(f, " until={}", utc(until))?;
        }
        if let Some(node_ids) = &self.node_ids {
            write!(f, " node_ids={}-{}", node_ids.start(), node_ids.end())?;
        }
        Ok(())
    }
}

/// How often another command may replace it while this one waits for its lock.
const TRIES: usize = 1_000;

/// A file of tokens that no other command changes meanwhile.
#[derive(Debug)]
pub struct TokensFile {
    /// Path of the file, without links.
    place: PathBuf,
    text: String,
    found: Metadata,
    /// Lock of the file that is replaced: who waits for it looks again.
    _locked: File,
}

impl TokensFile {
    /// Opens an existing file.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let place = private_file::follow(path).map_err(Failure::failed)?;
        for _ in 0..TRIES {
            let (mut file, found) = private_file::open_settings(&place).map_err(Failure::failed)?;
            let wrong = |error: io::Error| failed(&place, error);
            file.lock().map_err(wrong)?;
            // Another command may have put a new file in its place.
            let is_there =
                fs::metadata(&place).is_ok_and(|now| private_file::is_same(&now, &found));
            if !is_there {
                continue;
            }
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(wrong)?;
            check(&text).map_err(|problem| failed(&place, problem))?;
            return Ok(Self {
                place,
                text,
                found,
                _locked: file,
            });
        }
        Err(failed(&place, "other commands change it all the time"))
    }

    /// Opens the file, and creates it, for its owner alone, if it is missing.
    pub fn open_or_create(path: &Path) -> Result<Self, Failure> {
        let place = private_file::follow(path).map_err(Failure::failed)?;
        let place = private_file::resolve(&place).map_err(Failure::failed)?;
        // Never through a link: that was followed, and who may have made it was looked at.
        let made =
            private_file::write_new(&place, b"").and_then(|()| private_file::sync_name(&place));
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(&place, error)),
            _ => Self::open(&place),
        }
    }

    /// Tokens of the file, in their order.
    pub fn tokens(&self) -> Vec<TokenLine> {
        settings::lines(&self.text)
            .filter_map(|(_, line)| line.parse().ok())
            .collect()
    }

    /// Tokens of a name.
    pub fn named(&self, name: &str) -> Result<Vec<TokenLine>, Failure> {
        let mut tokens = self.tokens();
        let names: Vec<_> = tokens.iter().map(|token| token.name.clone()).collect();
        tokens.retain(|token| token.name == name);
        if !tokens.is_empty() {
            return Ok(tokens);
        }
        let there = if names.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        Err(failed(
            &self.place,
            format!("no token is named {name:?}: {there}"),
        ))
    }

    /// Puts another file in its place at once: each line as `change` says, `None` to remove it, and
    /// more at the end. What is no token stays as it is.
    pub fn replace(
        self,
        change: impl Fn(&TokenLine) -> Option<String>,
        more: Option<&TokenLine>,
    ) -> Result<(), Failure> {
        let mut text = String::with_capacity(self.text.len());
        // Only an empty file: one with tokens but without the line has the same version, and stays
        // as it was written.
        if self.text.is_empty() {
            text.extend([VERSION_LINE, "\n"]);
        }
        for line in self.text.lines() {
            let words = settings::lines(line).next();
            let token = words.and_then(|(_, line)| line.parse().ok());
            let after = match &token {
                Some(token) => change(token),
                None => Some(line.to_owned()),
            };
            if let Some(after) = after {
                text.extend([&*after, "\n"]);
            }
        }
        if let Some(line) = more {
            text.extend([&*line.to_string(), "\n"]);
        }
        let wrong = |error: io::Error| failed(&self.place, error);
        // What a running server would refuse must not replace what it accepts.
        check(&text).map_err(|problem| failed(&self.place, problem))?;
        let name = self.place.file_name().unwrap_or_default();
        let draft = self
            .place
            .with_file_name(format!(".{}.new", name.to_string_lossy()));
        // What a command has left that was ended in between; no other one is here.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&draft, error)),
            _ => {}
        }
        // Written to the disk before it has the name: after a power cut there is the old file or
        // the new one.
        private_file::write_new(&draft, text.as_bytes()).map_err(|error| failed(&draft, error))?;
        // Owner and mode before the name: a server reads the file as soon as it has it, and cannot
        // open one of root with mode 0600.
        let replaced = keep_owner(&draft, &self.found)
            .and_then(|()| fs::set_permissions(&draft, self.found.permissions()))
            .and_then(|()| fs::rename(&draft, &self.place));
        replaced.map_err(|error| {
            // It is nobody's.
            _ = fs::remove_file(&draft);
            wrong(error)
        })?;
        private_file::sync_name(&self.place).map_err(wrong)
    }
}

/// Root changes a file of the server's user.
#[cfg(unix)]
fn keep_owner(draft: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};

    let made = fs::metadata(draft)?;
    let (uid, gid) = (found.uid(), found.gid());
    if (made.uid(), made.gid()) == (uid, gid) {
        return Ok(());
    }
    chown(draft, Some(uid), Some(gid))
}

/// Rights are kept elsewhere.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
fn keep_owner(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn failed(path: &Path, problem: impl Display) -> Failure {
    Failure::failed(format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn read(text: &str, before: &Tokens) -> Tokens {
        Tokens::parse(text, before).unwrap()
    }

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let text = format!(
            "name=a sha256={HASH} scopes=ids,leases namespaces=orders,b-* ids_per_second=10 requests_per_second=2 \
             leases_per_second=3 reads_per_second=4 until=2026-12-31T09:30:00Z node_ids=0-99"
        );
        assert_eq!(text.parse::<TokenLine>().unwrap().to_string(), text);
    }

    #[test]
    fn a_wrong_file_is_refused_by_line() {
        let good = format!("name=a sha256={HASH} scopes=ids namespaces=*");
        for (text, problem) in [
            (
                format!("{good}\n{good}"),
                "line 2: the name \"a\" is used twice",
            ),
            (
                format!("{good}\n\n# other\n{}", good.replace("name=a", "name=b")),
                "line 4: this is also the token of \"a\"",
            ),
            (
                good.replace("scopes=ids", "scopes=all"),
                "line 1: \"all\" is no scope",
            ),
            (good.replace("name=a ", ""), "line 1: name is missing"),
            (good.replace("ba78", "xx78"), "line 1: sha256 must be"),
            (
                format!("{good} until=never"),
                "line 1: until is \"never\": a date",
            ),
            (format!("{good} for=ever"), "line 1: \"for\" is unknown"),
            (
                format!("{good} node_ids=9-3"),
                "line 1: \"9-3\" is no range of node ids",
            ),
            (
                format!("{good} ids_per_second=0"),
                "line 1: \"0\" is no quota",
            ),
            (
                format!("# ours\nversion=2\n{good}"),
                "line 2: a newer randflake made it (version 2; this one knows 1): update this one",
            ),
            (
                format!("{good}\nrft_{HASH}"),
                "line 2: a token itself stands there",
            ),
            (
                "version=one".to_owned(),
                "line 1: \"version=one\" is no version: version=1 is allowed",
            ),
            (
                format!("{good}\nversion=1"),
                "line 2: the version must be in the first line",
            ),
        ] {
            let told = check(&text).unwrap_err();
            assert!(told.starts_with(problem), "{told}");
        }
    }

    #[test]
    fn a_file_may_say_its_version() {
        let line = format!("name=a sha256={HASH} scopes=ids namespaces=*");
        for text in [line.clone(), format!("{VERSION_LINE}\n\n{line}\n")] {
            assert_eq!(read(&text, &Tokens::default()).all().len(), 1, "{text}");
        }
    }

    #[test]
    fn a_quota_goes_on_in_the_next_version() {
        let text = format!("name=a sha256={HASH} scopes=ids namespaces=* ids_per_second=10");
        let first = read(&text, &Tokens::default());
        first.by_name["a"].take_ids(10).unwrap();
        let second = read(&text, &first);
        assert!(second.by_name["a"].take_ids(10).is_err());
    }

    #[test]
    fn two_of_one_name_share_their_quotas_and_one_expires() {
        let new = format!("name=a sha256={HASH} scopes=ids namespaces=* ids_per_second=10");
        let old = new.replace("ba78", "ba79");
        let old = format!("{old} until=2999-01-01T00:00:00Z");
        for both in [format!("{old}\n{new}"), format!("{new}\n{old}")] {
            let both = read(&both, &Tokens::default());
            let mut tokens = both.all();
            tokens.next().unwrap().take_ids(10).unwrap();
            assert!(tokens.next().unwrap().take_ids(1).is_err());
            // The new one goes on with them when it is alone.
            let alone = read(&new, &both);
            assert!(alone.by_name["a"].take_ids(1).is_err());
        }
    }

    /// A file may have 100,000, and to compare each with each would take minutes.
    #[test]
    fn many_tokens_are_read_and_found() {
        const COUNT: usize = 30_000;
        let hash = |number: usize| format!("{number:064x}");
        let line = |number| {
            format!(
                "name=t{number} sha256={} scopes=ids namespaces=*\n",
                hash(number)
            )
        };
        let text: String = (0..COUNT).map(line).collect();
        let tokens = read(&text, &Tokens::default());
        let again = read(&text, &tokens);
        for number in [0, COUNT - 1] {
            let hash = Hash::from_hex(&hash(number)).unwrap();
            assert_eq!(again.find(&hash).unwrap().name(), format!("t{number}"));
        }
        assert_eq!(again.all().len(), COUNT);
    }
}
