//! Bar charts as SVG.

use core::fmt::Write;

use super::counts::{By, Histogram, float, verdict};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// Margin on the left of the bars, for labels, in pixels as the rest.
const LEFT: f64 = 70.0;
const TOP: f64 = 50.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 60.0;

pub(super) fn draw(counts: &Histogram) -> String {
    let (title, axis) = match counts.by() {
        By::Range(parts) => (
            format!(
                "{} ids over {parts} ranges of the 64-bit numbers",
                counts.total()
            ),
            "first id of the range, hexadecimal",
        ),
        By::Shard(parts) => (
            format!("{} ids over {parts} shards, by remainder", counts.total()),
            "shard",
        ),
    };
    let parts = counts.all().len();
    let (plot_width, plot_height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let step = plot_width / float(parts as u64);
    let scale = plot_height / float(counts.most().max(1));
    let (bottom, middle) = (HEIGHT - BOTTOM, LEFT + plot_width / 2.0);
    let mut svg = String::new();
    // Writing to a string never fails.
    _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
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
    let (y, right) = (bottom - scale * even, WIDTH - RIGHT);
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
