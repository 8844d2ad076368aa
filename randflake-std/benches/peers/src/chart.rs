//! The figures as a picture: bars on a logarithmic scale, what is bound by cost alone.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::measure::{Bound, Figure};
use crate::ours;

/// What is drawn, with its title.
const GROUPS: [(&str, &str); 6] = [
    ("one_thread", "one thread, one id at a time"),
    ("two_threads", "two threads (time by the number of all ids)"),
    ("batch", "1,024 ids at once"),
    ("snowflake", "Twitter's layout, nothing waits"),
    ("text_encode", "to text"),
    ("text_decode", "from text"),
];

const WIDTH: i32 = 860;
const LINE: i32 = 17;
const BAR: i32 = 11;
/// Where the bars begin.
const LEFT: i32 = 350;
const RIGHT: i32 = WIDTH - 60;
const TOP: i32 = 48;
const DECADES: std::ops::RangeInclusive<i32> = -1..=5;

const OURS: RGBColor = RGBColor(0xB4, 0x3A, 0x1E);
const OTHERS: RGBColor = RGBColor(0x8A, 0x9B, 0xA8);
const TEXT: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);

/// Where a number of nanoseconds stands.
#[expect(clippy::cast_possible_truncation, reason = "pixels are few")]
fn across(ns: f64) -> i32 {
    let (first, last) = (f64::from(*DECADES.start()), f64::from(*DECADES.end()));
    let part = (ns.log10() - first) / (last - first);
    LEFT + (part.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)) as i32
}

pub(crate) fn draw(figures: &[Figure], caption: &str) -> Result<String, Box<dyn Error>> {
    let groups = GROUPS.map(|(group, title)| {
        let drawn = |figure: &&Figure| figure.group == group && figure.bound == Bound::Cost;
        let mut bars: Vec<_> = figures.iter().filter(drawn).collect();
        bars.sort_by(|one, other| one.ns_median.total_cmp(&other.ns_median));
        (title, bars)
    });
    let lines: usize = groups.iter().map(|(_, bars)| bars.len() + 2).sum();
    let bottom = TOP + i32::try_from(lines)? * LINE;
    let height = bottom + 30;
    let mut svg = String::new();
    {
        let size = (WIDTH.cast_unsigned(), height.cast_unsigned());
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let style = |size: i32, color: RGBColor, side| {
            let font = ("sans-serif", size).into_font();
            font.color(&color).pos(Pos::new(side, VPos::Center))
        };
        let title = style(16, TEXT, HPos::Left);
        root.draw_text("Nanoseconds an id (less is better)", &title, (12, 16))?;
        let legend = [(OURS, "this project"), (OTHERS, "others")];
        for ((color, who), left) in legend.into_iter().zip([WIDTH - 230, WIDTH - 110]) {
            let corners = [(left, 11), (left + 11, 22)];
            root.draw(&Rectangle::new(corners, color.filled()))?;
            root.draw_text(who, &style(12, TEXT, HPos::Left), (left + 17, 16))?;
        }
        for decade in DECADES {
            let at = across(10_f64.powi(decade));
            root.draw(&PathElement::new([(at, TOP), (at, bottom)], GRID))?;
            let label = match decade {
                3.. => format!("{} µs", 10_i32.pow(decade.unsigned_abs() - 3)),
                _ => format!("{} ns", 10_f64.powi(decade)),
            };
            root.draw_text(&label, &style(11, TEXT, HPos::Center), (at, TOP - 10))?;
        }
        let mut line = TOP + LINE / 2;
        for (title, bars) in &groups {
            line += LINE;
            let bold = style(13, TEXT, HPos::Left);
            root.draw_text(title, &bold, (12, line))?;
            line += LINE;
            for bar in bars {
                let is_ours = bar.who == ours::WHO;
                let color = if is_ours { OURS } else { OTHERS };
                let ink = if is_ours { OURS } else { TEXT };
                let label = format!("{}  {}", bar.who, bar.case);
                let right = style(12, ink, HPos::Right);
                root.draw_text(&label, &right, (LEFT - 8, line))?;
                let end = across(bar.ns_median);
                let corners = [(LEFT, line - BAR / 2), (end, line + BAR / 2)];
                root.draw(&Rectangle::new(corners, color.filled()))?;
                let ns = if bar.ns_median < 100.0 {
                    format!("{:.1}", bar.ns_median)
                } else {
                    format!("{:.0}", bar.ns_median)
                };
                root.draw_text(&ns, &style(11, ink, HPos::Left), (end + 5, line))?;
                line += LINE;
            }
        }
        root.draw_text(caption, &style(11, TEXT, HPos::Left), (12, height - 12))?;
        root.present()?;
    }
    Ok(svg)
}
