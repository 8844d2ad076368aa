//! Charts of a histogram, for a terminal and as SVG.

use core::fmt::Write as _;
use std::io::{self, Write};

use super::counts::{Buckets, Histogram, float, verdict};

const WIDTH: u64 = 50;
/// Eighths of a character's width.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub(super) fn write(out: &mut impl Write, counts: &Histogram) -> io::Result<()> {
    let head = match counts.by() {
        Buckets::Range(_) => "ids from (hexadecimal)",
        Buckets::Shard(_) => "shard",
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

const SVG_WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// Margin on the left of the bars, for labels, in pixels as the rest.
const LEFT: f64 = 70.0;
const TOP: f64 = 50.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 60.0;

pub(super) fn draw(counts: &Histogram) -> String {
    let (title, axis) = match counts.by() {
        Buckets::Range(parts) => (
            format!(
                "{} ids over {parts} ranges of the 64-bit numbers",
                counts.total()
            ),
            "first id of the range, hexadecimal",
        ),
        Buckets::Shard(parts) => (
            format!("{} ids over {parts} shards, by remainder", counts.total()),
            "shard",
        ),
    };
    let parts = counts.all().len();
    let (plot_width, plot_height) = (SVG_WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let step = plot_width / float(parts as u64);
    let scale = plot_height / float(counts.most().max(1));
    let (bottom, middle) = (HEIGHT - BOTTOM, LEFT + plot_width / 2.0);
    let mut svg = String::new();
    // Writing to a string never fails.
    _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SVG_WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{SVG_WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text x="{middle}" y="22" font-size="16" text-anchor="middle">{title}</text>
<text x="{middle}" y="40" text-anchor="middle" fill="#555555">{}</text>
"##,
        verdict(counts.test())
    );
    for (part, &count) in counts.all().iter().enumerate() {
        let (x, height) = (LEFT + step * float(part as u64), scale * float(count));
        let (y, width, name) = (bottom - height, (step * 0.9).max(0.1), counts.name(part));
        _ = writeln!(
            svg,
            r##"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" fill="#2b6cb0"><title>{name}: {count}</title></rect>"##
        );
    }
    let even = float(counts.total()) / float(parts as u64);
    let (y, right) = (bottom - scale * even, SVG_WIDTH - RIGHT);
    _ = writeln!(
        svg,
        r##"<line x1="{LEFT}" y1="{y:.2}" x2="{right}" y2="{y:.2}" stroke="#c53030" stroke-dasharray="4 3"/>
<text x="{right}" y="{:.2}" text-anchor="end" fill="#c53030">even: {even:.1}</text>
<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#000000"/>
<text x="{:.2}" y="{:.2}" text-anchor="end">{}</text>
<text x="{:.2}" y="{bottom}" text-anchor="end">0</text>"##,
        y - 4.0,
        LEFT - 6.0,
        TOP + 10.0,
        counts.most(),
        LEFT - 6.0,
    );
    // A name is wider than a bar: in the middle of the first or the last one it would leave the picture.
    let middle_bar = LEFT + step * (float(parts as u64 / 2) + 0.45);
    for (part, x, anchor) in [
        (0, LEFT, "start"),
        (parts / 2, middle_bar, "middle"),
        (parts - 1, right, "end"),
    ] {
        let (y, name) = (bottom + 18.0, counts.name(part));
        _ = writeln!(
            svg,
            r#"<text x="{x:.2}" y="{y}" text-anchor="{anchor}">{name}</text>"#
        );
    }
    let y = bottom + 40.0;
    _ = writeln!(
        svg,
        r##"<text x="{middle}" y="{y}" text-anchor="middle" fill="#555555">{axis}</text>
</svg>"##
    );
    svg
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
