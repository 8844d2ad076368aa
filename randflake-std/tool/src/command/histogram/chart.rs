//! Bar charts as text.

use std::io::{self, Write};

use super::counts::{By, Histogram, float, verdict};

const WIDTH: u64 = 50;
/// Eighths of a character's width.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub(super) fn write(out: &mut impl Write, counts: &Histogram) -> io::Result<()> {
    let head = match counts.by() {
        By::Range(_) => "ids from (hexadecimal)",
        By::Shard(_) => "shard",
    };
    let names = (0..counts.all().len()).map(|part| counts.name(part).len());
    let (name_width, head_width) = (names.max().unwrap_or_default(), head.len());
    let width = name_width.max(head_width);
    let count_width = counts.most().to_string().len().max("count".len());
    writeln!(out, "{head:width$}  {:>count_width$}   share", "count")?;
    for (part, &count) in counts.all().iter().enumerate() {
        let share = 100.0 * float(count) / float(counts.total());
        let (name, bar) = (counts.name(part), bar(count, counts.most()));
        let line = format!("{name:width$}  {count:count_width$}  {share:5.1}%  {bar}");
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "{} ids; {}", counts.total(), verdict(counts.test()))
}

/// A bar in proportion to the largest count, which has the whole width.
fn bar(count: u64, most: u64) -> String {
    let eighths = u128::from(count) * u128::from(WIDTH) * 8 / u128::from(most.max(1));
    let (whole, part) = (eighths / 8, eighths % 8);
    let part = usize::try_from(part).ok().and_then(|part| PARTS.get(part));
    "█".repeat(usize::try_from(whole).unwrap_or_default()) + part.unwrap_or(&"")
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_as_long_as_counts() {
        assert_eq!(bar(0, 100), "");
        assert_eq!(bar(100, 100), "█".repeat(50));
        assert_eq!(bar(50, 100), "█".repeat(25));
        assert_eq!(bar(1, 100), "▌");
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 50);
        assert_eq!(bar(0, 0), "");
    }
}
