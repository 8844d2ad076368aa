//! What the file holds.

use crate::vocabulary::Namespace;

#[derive(Clone, Debug)]
pub(super) struct Content {
    /// Name of the namespace.
    name: String,
    node_id: u32,
    /// Record of the namespace.
    pub(super) namespace: Option<String>,
    /// That of the last lease.
    pub(super) node: Option<String>,
}

impl Content {
    /// Reads a file's text, which is empty in a new one. What was written for something else is refused by a sentence.
    pub(super) fn read(text: &str, namespace: &Namespace, node_id: u32) -> Result<Self, String> {
        let asked = namespace.name();
        let new = format!("{asked}\n{node_id}\n\n");
        let text = if text.is_empty() { &new } else { text };
        let [name, stored, namespace, node] = text.split('\n').collect::<Vec<_>>()[..] else {
            return Err("it is damaged".to_owned());
        };
        if name != asked {
            return Err(format!(
                "this is the file of namespace {name:?}, not of {asked:?}: give each its own"
            ));
        }
        if stored != node_id.to_string() {
            return Err(format!(
                "this is the file of node id {stored}, not of {node_id}: give each its own, and delete none"
            ));
        }
        let record = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Ok(Self {
            name: name.to_owned(),
            node_id,
            namespace: record(namespace),
            node: record(node),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let Self {
            name,
            node_id,
            namespace,
            node,
        } = self;
        let [namespace, node] = [namespace, node].map(|record| record.as_deref().unwrap_or(""));
        format!("{name}\n{node_id}\n{namespace}\n{node}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{
        Form, HistoryLink, NamespaceRecord, NodeRecord, QuarantineReason, VERSION, Versions,
    };
    use crate::store::locked;
    use crate::vocabulary::QuarantineCause;
    use crate::vocabulary::Token;
    use crate::vocabulary::holder::MAX_LEN;
    use randflake_core::Randflake;

    #[test]
    fn the_longest_of_everything_fits() {
        let namespace = Namespace::new(&"n".repeat(64), Randflake).unwrap();
        let mut content = Content::read("", &namespace, u32::MAX).unwrap();
        let record = NamespaceRecord {
            versions: Versions::FIRST,
            terms: *namespace.terms(),
            origin: u64::MAX,
            writes: u64::MAX,
            quarantine: u64::MAX,
            reason: QuarantineReason {
                since: u64::MAX,
                cause: QuarantineCause::Dropped,
                is_dropped: true,
            },
            fingerprint: String::new(),
            form: Form::default(),
        };
        content.namespace = Some(record.to_text());
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
            acquired: 0,
            past: HistoryLink {
                // One each microsecond for nine years.
                count: 1 << 48,
                end: 0,
                hash: u128::MAX,
            },
            holder: "h".repeat(MAX_LEN),
            knows: VERSION,
            form: Form::default(),
        };
        content.node = Some(record.to_text());
        let text = content.to_text();
        assert!(text.len() <= locked::MOST, "{}", text.len());
        let read = Content::read(&text, &namespace, u32::MAX).unwrap();
        assert_eq!(
            (read.namespace, read.node),
            (content.namespace, content.node)
        );
    }
}
