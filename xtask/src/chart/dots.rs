//! A row for each peer, with a hollow dot before and a full one after; or one full dot.

use super::scale::{Scale, Unit, quantity};
use super::svg::{Anchor, Svg};
use super::{colour, label, verdict};

#[derive(Debug)]
pub(crate) struct Dots<'a> {
    pub(crate) title: &'a str,
    /// What the figures are, and what the two dots mean.
    pub(crate) figure: &'a str,
    pub(crate) unit: Unit,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) peer: String,
    pub(crate) ours: bool,
    pub(crate) before: Option<f64>,
    pub(crate) after: f64,
}

const WIDTH: f64 = 620.0;
const LEFT: f64 = 216.0;
const RIGHT: f64 = 84.0;
const TOP: f64 = 75.0;
const ROW: f64 = 26.0;

impl Dots<'_> {
    /// Nothing when there is nothing to draw.
    pub(crate) fn draw(mut self) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let base = TOP + ROW * self.rows.len() as f64;
        let mut svg = Svg::new(WIDTH, base + 30.0, self.title);
        svg.text("title", Anchor::Start, (8.0, 20.0), self.title);
        let ends = self.rows.iter();
        let ends = ends.map(|row| (row.peer.as_str(), row.ours, row.after));
        if let Some((class, verdict)) = verdict(ends, self.unit) {
            svg.text(class, Anchor::Start, (8.0, 38.0), &verdict);
        }
        let below = format!("{}, logarithmic", self.figure);
        svg.text("mute", Anchor::Start, (8.0, 55.0), &below);
        self.rows.sort_by(|a, b| a.after.total_cmp(&b.after));

        let values = self.rows.iter();
        let values = values.flat_map(|row| [row.before.unwrap_or(row.after), row.after]);
        let scale = Scale::over(values, LEFT, WIDTH - RIGHT);
        for tick in scale.ticks(54.0) {
            let x = scale.place(tick);
            svg.line("grid", (x, TOP - 8.0), (x, base));
            let text = quantity(tick, self.unit);
            svg.text("mute", Anchor::Middle, (x, base + 18.0), &text);
        }
        for (at, row) in self.rows.iter().enumerate() {
            self.row(&mut svg, &scale, row, TOP + ROW * (at as f64 + 0.4));
        }
        Some(svg.finish())
    }

    fn row(&self, svg: &mut Svg, scale: &Scale, row: &Row, y: f64) {
        let colour = colour(&row.peer);
        let bold = if row.ours { " b" } else { "" };
        let name = label(&row.peer);
        let class = format!("f-{colour}{bold}");
        svg.text(&class, Anchor::End, (LEFT - 14.0, y + 4.0), &name);
        let after = scale.place(row.after);
        let mut right = after;
        if let Some(value) = row.before {
            let before = scale.place(value);
            svg.line(&format!("line{bold} s-{colour}"), (before, y), (after, y));
            let told = format!("{}: {}", row.peer, quantity(value, self.unit));
            let class = format!("hollow s-{colour}");
            svg.dot(&class, (before, y), 5.0, &told);
            right = right.max(before);
        }
        let told = quantity(row.after, self.unit);
        let full = format!("{}: {told}", row.peer);
        svg.dot(&format!("f-{colour}"), (after, y), 5.5, &full);
        svg.text(&class, Anchor::Start, (right + 11.0, y + 4.0), &told);
    }
}
