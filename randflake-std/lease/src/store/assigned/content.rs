//! Content of the file: its owner, and the records that there is room for.

use std::collections::BTreeMap;

use crate::rules::Key;

/// A file's text in parts. They are written together into one sector, so there is room for two
/// records.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// Name of the namespace.
    pub(super) name: String,
    pub(super) node_id: u32,
    /// The record of the namespace, and that of the node id.
    pub(super) texts: BTreeMap<Key, String>,
}

impl Content {
    /// Reads a file of a namespace and a node id, whose text is empty if it is new.
    ///
    /// # Errors
    ///
    /// A sentence says whose file it is instead. It warns of the obvious remedy: without the file,
    /// nobody knows until when ids of its node id may be in use.
    pub(super) fn read(text: &str, name: &str, node_id: u32) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self {
                name: name.to_owned(),
                node_id,
                texts: BTreeMap::new(),
            });
        }
        let content = Self::parse(text)?;
        if content.name != name {
            return Err(format!(
                "this is the file of namespace {:?}, not of {name:?}: give each namespace a file of its own",
                content.name
            ));
        }
        if content.node_id != node_id {
            return Err(format!(
                "this is the file of node id {}, and this process has node id {node_id}: each needs a file of its own. \
                 Correct the number or the path, or mount this pod's own volume; do not delete the file",
                content.node_id
            ));
        }
        Ok(content)
    }

    /// Reads the four lines of any file.
    ///
    /// # Errors
    ///
    /// A sentence says that it is damaged.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // Records are texts of one line, so each part has its own.
        let lines: Vec<_> = text.split('\n').collect();
        let damaged = || "it is damaged".to_owned();
        let [name, node_id, namespace, node] = lines[..] else {
            return Err(damaged());
        };
        let node_id = node_id.parse().map_err(|_| damaged())?;
        let texts = [(Key::Namespace, namespace), (Key::Node(node_id), node)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty());
        Ok(Self {
            name: name.to_owned(),
            node_id,
            texts: texts.map(|(key, text)| (key, text.to_owned())).collect(),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let text = |key| self.texts.get(&key).map_or("", String::as_str);
        let (namespace, node) = (text(Key::Namespace), text(Key::Node(self.node_id)));
        format!("{}\n{}\n{namespace}\n{node}", self.name, self.node_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{
        Form, HistoryLink, NamespaceRecord, NodeRecord, QuarantineReason, VERSION, Versions,
    };
    use crate::store::locked;
    use crate::types::Namespace;
    use crate::types::QuarantineCause;
    use crate::types::Token;
    use crate::types::holder::MAX_LEN;
    use randflake_core::Randflake;

    #[test]
    fn the_longest_of_everything_fits() {
        let namespace = Namespace::new(&"n".repeat(64), Randflake).unwrap();
        let mut content = Content::read("", namespace.name(), u32::MAX).unwrap();
        let record = NamespaceRecord {
            versions: Versions::FIRST,
            terms: *namespace.terms(),
            namespace_nonce: u64::MAX,
            writes: u64::MAX,
            quarantine: u64::MAX,
            reason: QuarantineReason {
                since: u64::MAX,
                cause: QuarantineCause::Dropped,
                is_dropped: true,
            },
            fingerprint: "f".repeat(16),
            identity: String::new(),
            form: Form::default(),
        };
        content.texts.insert(Key::Namespace, record.to_text());
        let record = NodeRecord {
            node_id: u32::MAX,
            start: u64::MAX,
            end: u64::MAX,
            fencing_token: u64::MAX,
            serial: u64::MAX,
            token: Token::from_bytes([255; 16]),
            nonce: u64::MAX,
            held: true,
            contested: true,
            past: HistoryLink {
                // One each microsecond for nine years.
                count: 1 << 48,
                end: 0,
                hash: u128::MAX,
            },
            holder: "h".repeat(MAX_LEN),
            capabilities: VERSION,
            form: Form::default(),
        };
        content.texts.insert(Key::Node(u32::MAX), record.to_text());
        let text = content.to_text();
        assert!(text.len() <= locked::MOST, "{}", text.len());
        let read = Content::read(&text, namespace.name(), u32::MAX).unwrap();
        assert_eq!(read.texts, content.texts);
    }
}
