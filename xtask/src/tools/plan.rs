//! What apt would do, read from its answer to `apt-get --simulate install`.

use core::fmt;

use super::ask::Answer;

#[derive(Debug, PartialEq, Eq, Clone)]
pub(super) struct DebianPackage {
    pub(super) name: String,
    pub(super) version: String,
}

#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Plan {
    pub(super) new: Vec<DebianPackage>,
    /// In their new versions.
    pub(super) upgraded: Vec<DebianPackage>,
    pub(super) removed: Vec<String>,
}

/// Why apt has no plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AptRefusal {
    /// It has no such package.
    Unknown(String),
    /// What is installed or held stands against it.
    Conflict(String),
}

impl Plan {
    pub(super) fn read(answer: &Answer) -> Result<Self, AptRefusal> {
        if !answer.succeeded() {
            let complaint = answer.complaint();
            let is_unknown = complaint.starts_with("Unable to locate package")
                || complaint.ends_with("has no installation candidate");
            return Err(if is_unknown {
                AptRefusal::Unknown(complaint)
            } else {
                AptRefusal::Conflict(complaint)
            });
        }
        let mut plan = Self::default();
        for line in answer.text.lines() {
            plan.add(line)
                .ok_or_else(|| AptRefusal::Conflict(format!("cannot read apt's line: {line}")))?;
        }
        Ok(plan)
    }

    /// `Inst NAME [OLD] (NEW ...)` with the old version of an upgrade, or `Remv NAME [OLD]`; other lines are for people.
    fn add(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Remv" | "Purg") => self.removed.push(words.next()?.to_owned()),
            Some("Inst") => {
                let name = words.next()?.to_owned();
                let mut version = words.next()?;
                let packages = if version.starts_with('[') {
                    version = words.next()?;
                    &mut self.upgraded
                } else {
                    &mut self.new
                };
                let version = version.strip_prefix('(')?.to_owned();
                packages.push(DebianPackage { name, version });
            }
            _ => {}
        }
        Some(())
    }

    /// What it would change of what is installed, for a message; `None` if it only adds packages.
    pub(super) fn changes(&self) -> Option<String> {
        let upgraded: Vec<_> = self.upgraded.iter().map(|package| &*package.name).collect();
        let removed: Vec<_> = self.removed.iter().map(|name| &**name).collect();
        let changes = [("upgrade", upgraded), ("remove", removed)];
        let changes = changes.iter().filter(|(_, names)| !names.is_empty());
        let changes: Vec<_> = changes
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        (!changes.is_empty()).then(|| changes.join(" and "))
    }

    /// All that is not installed in a version that the tool can use.
    pub(super) fn lacking(self) -> Vec<DebianPackage> {
        self.new.into_iter().chain(self.upgraded).collect()
    }
}

impl fmt::Display for DebianPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.version)
    }
}

impl fmt::Display for AptRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown(complaint) | Self::Conflict(complaint)) = self;
        f.write_str(complaint)
    }
}
