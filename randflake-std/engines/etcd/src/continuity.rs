//! Continuity of a cluster: detection of one that was set back, restored or copied.

use super::transaction::Header;

/// What a cluster is known by: its id, and how often a process has seen that it was set back.
pub(crate) fn fingerprint(cluster_id: &str, setbacks: u64) -> String {
    format!("{cluster_id}:{setbacks}")
}

/// What a snapshot that is restored into another cluster changes, and no failure of members does.
pub(crate) fn identity(cluster_id: &str) -> String {
    format!("the etcd cluster {cluster_id}")
}

/// The count of setbacks in a fingerprint, as the cluster has it: none before the first one.
pub(crate) fn counted(fingerprint: &str) -> Option<String> {
    let (_, setbacks) = fingerprint.split_once(':').unwrap_or_default();
    Some(setbacks.to_owned()).filter(|count| count != "0")
}

/// The latest revision of a cluster that this process has seen. Revisions only grow: a lower one is
/// an older state of the cluster, or another cluster.
#[derive(Debug, Default)]
pub(crate) struct SeenRevision(u64);

impl SeenRevision {
    /// Notes that the cluster has answered; `false` if it was set back, which is to be counted
    /// first.
    pub(crate) fn allows(&mut self, header: &Header) -> bool {
        let is_later = header.revision >= self.0;
        if is_later {
            self.0 = header.revision;
        }
        is_later
    }

    /// Notes that a setback was counted, by a write that has this header.
    pub(crate) fn begin_anew(&mut self, header: &Header) {
        self.0 = header.revision;
    }

    /// Notes a write that was decided on a fingerprint, and has put something or not; `false` if
    /// the cluster was set back or replaced since it was read.
    pub(crate) fn allows_write(
        &mut self,
        header: &Header,
        fingerprint: &str,
        is_put: bool,
    ) -> bool {
        // A transaction that puts nothing leaves the revision as it was.
        let least = self.0.saturating_add(is_put.into());
        let is_same = fingerprint.split(':').next() == Some(&header.cluster_id);
        let is_allowed = is_same && header.revision >= least;
        // So the next read counts a setback, whatever revision it shows.
        self.0 = if is_allowed {
            header.revision
        } else {
            u64::MAX
        };
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(revision: u64) -> Header {
        Header {
            cluster_id: "14841639068965178418".to_owned(),
            revision,
        }
    }

    #[test]
    fn a_fingerprint_has_the_count_that_is_stored() {
        assert_eq!(counted(&fingerprint("148", 0)), None);
        assert_eq!(counted(&fingerprint("148", 3)).as_deref(), Some("3"));
    }

    #[test]
    fn a_lower_revision_is_a_setback_until_it_is_counted() {
        let mut seen = SeenRevision::default();
        for revision in [7, 7, 9] {
            assert!(seen.allows(&header(revision)));
        }
        assert!(!seen.allows(&header(8)));
        assert!(!seen.allows(&header(8)), "nobody has counted it");
        seen.begin_anew(&header(4));
        assert!(!seen.allows(&header(3)));
        assert!(seen.allows(&header(4)));
    }

    #[test]
    fn a_write_moves_the_revision_unless_it_puts_nothing() {
        let known = fingerprint(&header(0).cluster_id, 0);
        for (revision, is_put, is_allowed) in [
            (10, true, true),
            (12, true, true),
            (9, true, false),
            (9, false, true),
            (8, false, false),
        ] {
            let mut seen = SeenRevision::default();
            assert!(seen.allows(&header(9)));
            let allowed = seen.allows_write(&header(revision), &known, is_put);
            assert_eq!(allowed, is_allowed, "{revision}");
            // What follows is known from here on, or counts as a setback.
            assert!(!seen.allows(&header(revision - 1)));
            assert_eq!(seen.allows(&header(revision)), is_allowed);
        }
    }

    #[test]
    fn a_write_to_another_cluster_is_not_allowed() {
        let mut seen = SeenRevision::default();
        assert!(!seen.allows_write(&header(10), "148:0", true));
        assert!(!seen.allows(&header(1_000)));
    }
}
