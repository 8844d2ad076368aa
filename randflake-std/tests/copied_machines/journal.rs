//! Messages of a machine, and those that two copies of it have in common.

use core::fmt::{self, Display, Formatter};
use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Id {
        node_id: u32,
        id: u64,
    },
    /// It holds this lease from now on, or to another end.
    Lease {
        node_id: u32,
        start: u64,
        end: u64,
    },
    /// A lease was lost because a copy has renewed it.
    Contested,
    /// The lease has ended by the machine's clock.
    Over,
}

#[derive(Debug, Default)]
pub(crate) struct Journal(Vec<Line>);

impl Journal {
    /// The first line may be the end of one that began before the machine was saved, and the last
    /// one is cut short when it is killed: both are left out.
    pub(crate) fn read(text: &str) -> Self {
        let whole = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let mut lines = Vec::new();
        for (number, line) in whole.enumerate() {
            match Line::read(line.trim_end()) {
                Some(line) => lines.push(line),
                // Why the store does not answer: for people.
                None if number == 0 || line.starts_with("trouble") => {}
                None => panic!("the machine wrote {line:?}"),
            }
        }
        Self(lines)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        ids(&self.0)
    }

    /// Node id and start of each lease, in the order in which they were told, with repetitions.
    pub(crate) fn leases(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().filter_map(|line| match line {
            Line::Lease { node_id, start, .. } => Some((*node_id, *start)),
            _ => None,
        })
    }

    /// What was written after that.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        self.0.drain(..before.0.len());
        self
    }

    pub(crate) fn has(&self, line: Line) -> bool {
        self.0.contains(&line)
    }

    /// What it wrote before it was without a lease, and after.
    fn split(&self, held: (u32, u64)) -> (&[Line], &[Line]) {
        let position = self.0.iter().position(|line: &Line| match line {
            Line::Lease { node_id, start, .. } => (*node_id, *start) != held,
            Line::Contested | Line::Over => true,
            Line::Id { .. } => false,
        });
        self.0.split_at(position.unwrap_or(self.0.len()))
    }

    /// How many ids it has issued since it lost a lease.
    pub(crate) fn ids_after(&self, held: (u32, u64)) -> usize {
        ids(self.split(held).1).count()
    }
}

impl Line {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split(' ').collect();
        Some(match *words {
            ["id", node_id, id] => Self::Id {
                node_id: node_id.parse().ok()?,
                id: id.parse().ok()?,
            },
            ["lease", node_id, start, end] => Self::Lease {
                node_id: node_id.parse().ok()?,
                start: start.parse().ok()?,
                end: end.parse().ok()?,
            },
            ["contested"] => Self::Contested,
            ["over"] => Self::Over,
            _ => return None,
        })
    }
}

fn ids(lines: &[Line]) -> impl Iterator<Item = u64> {
    lines.iter().filter_map(|line| match line {
        Line::Id { id, .. } => Some(*id),
        _ => None,
    })
}

/// Of each copy where there are two.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) issued: [usize; 2],
    /// Ids that both have issued.
    pub(crate) equal: usize,
    /// Ids that were issued after the copied lease was lost, all of them distinct.
    pub(crate) after: [usize; 2],
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            issued: [first, second],
            equal,
            after: [first_after, second_after],
        } = self;
        write!(
            f,
            "{first} and {second} ids were issued since the machine was resumed, {equal} of them by both; \
             {first_after} and {second_after} after the lease was lost, 0 of them by both"
        )
    }
}

/// Compares two copies of a machine that wrote `original` and held a lease when it was saved. Fails
/// if an id that either has issued after it lost that lease was issued by anybody else, or if one
/// that was told that the lease is contested went on with it.
pub(crate) fn compare(
    original: &Journal,
    held: (u32, u64),
    copies: [&Journal; 2],
) -> Result<Figures, String> {
    let [first, second] = copies.map(|copy| copy.ids().collect::<HashSet<_>>());
    let figures = Figures {
        issued: copies.map(|copy| copy.ids().count()),
        equal: first.intersection(&second).count(),
        after: copies.map(|copy| copy.ids_after(held)),
    };
    for (copy, other) in copies.into_iter().zip([&second, &first]) {
        let mut own = HashSet::new();
        if let Some(id) = original.ids().chain(copy.ids()).find(|id| !own.insert(*id)) {
            return Err(format!("one machine has issued {id} twice"));
        }
        let after = copy.split(held).1;
        if let Some(id) = ids(after).find(|id| other.contains(id)) {
            return Err(format!("{id} was issued by both, after the lease was lost"));
        }
        if copy.has(Line::Contested)
            && after
                .iter()
                .any(|line: &Line| matches!(line, Line::Id { node_id, .. } if *node_id == held.0))
        {
            return Err("one went on with a lease that is contested".to_owned());
        }
    }
    Ok(figures)
}

/// What is wrong is found.
pub(crate) mod planted {
    use super::{Figures, Journal, compare};

    const HELD: (u32, u64) = (1, 10);

    fn compared(copies: [&str; 2]) -> Result<Figures, String> {
        let original = Journal::read("lease 1 10 20\nid 1 100\n");
        let [first, second] = copies.map(Journal::read);
        compare(&original, HELD, [&first, &second])
    }

    pub(crate) fn all() {
        let winner = "00\nid 1 101\nid 1 102\nlease 1 10 30\nid 1 103\nid 1 1";
        let figures = Figures {
            issued: [3, 3],
            equal: 2,
            after: [0, 1],
        };
        let loser = "id 1 101\nid 1 102\ncontested\nlease 2 12 40\nid 2 200\n";
        assert_eq!(compared([winner, loser]), Ok(figures));
        let found = |copies, problem| {
            let error = compared(copies).unwrap_err();
            assert!(error.contains(problem), "{error}");
        };
        found(
            [winner, "id 1 101\ncontested\nid 1 104\nlease 2 12 40\n"],
            "went on",
        );
        let expired = "id 1 101\nlease 2 12 40\nid 2 200\n";
        found([expired, expired], "200 was issued by both");
        found(
            [winner, "id 1 101\nlease 2 12 40\nid 2 103\n"],
            "103 was issued by both",
        );
        found([winner, "id 1 101\nid 1 101\n"], "101 twice");
        found(["id 1 100\n", expired], "100 twice");
    }
}
