//! One line for each peer, over a logarithmic scale.

use super::scale::{Scale, Unit, quantity};
use super::svg::{Anchor, Svg};
use super::{colour, label, verdict};

#[derive(Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) title: &'a str,
    /// What the figures are.
    pub(crate) figure: &'a str,
    pub(crate) unit: Unit,
    pub(crate) across: Axis,
    pub(crate) series: Vec<Series>,
}

/// What is across.
#[derive(Debug)]
pub(crate) enum Axis {
    /// How many timers, on a logarithmic scale.
    Timers,
    /// One place after the other, each with its name, and what they are.
    Places(Vec<String>, &'static str),
}

#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) peer: String,
    pub(crate) ours: bool,
    /// How many timers, or which place; and the figure.
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 367.0;
const LEFT: f64 = 62.0;
/// How wide a letter is, on average; more than that where it is bold.
const LETTER: f64 = 7.5;
const BOLD: f64 = 8.3;
const TOP: f64 = 69.0;
const BOTTOM: f64 = 46.0;

/// From where the scale ends to the names.
const LEAD: f64 = 14.0;

/// How close two labels may come.
const APART: f64 = 16.0;

impl Lines<'_> {
    /// Nothing when there is nothing to draw.
    pub(crate) fn draw(mut self) -> Option<String> {
        self.series.retain(|series| !series.points.is_empty());
        // Ours last, on top.
        self.series.sort_by_key(|series| series.ours);
        let points = || self.series.iter().flat_map(|series| &series.points);
        points().next()?;
        let mut svg = Svg::new(WIDTH, HEIGHT, self.title);
        svg.text("title", Anchor::Start, (8.0, 20.0), self.title);
        let ends = self.series.iter().filter_map(|series| {
            let (_, end) = series.points.last()?;
            Some((series.peer.as_str(), series.ours, *end))
        });
        if let Some((class, verdict)) = verdict(ends, self.unit) {
            let last = points().map(|(x, _)| *x).fold(0.0, f64::max);
            let text = format!("{}: {verdict}", self.across.told(last));
            svg.text(class, Anchor::Start, (8.0, 38.0), &text);
        }
        let below = format!("{}, logarithmic", self.figure);
        svg.text("mute", Anchor::Start, (8.0, 55.0), &below);
        let right = self.right();

        let upward = Scale::over(points().map(|(_, y)| *y), HEIGHT - BOTTOM, TOP);
        for tick in upward.ticks(20.0) {
            let y = upward.place(tick);
            svg.line("grid", (LEFT, y), (WIDTH - right, y));
            let text = quantity(tick, self.unit);
            svg.text("mute", Anchor::End, (LEFT - 6.0, y + 4.0), &text);
        }
        let across = self.across(&mut svg, right);

        let place = |(x, y): &(f64, f64)| (across(*x), upward.place(*y));
        for series in &self.series {
            let colour = colour(&series.peer);
            let bold = if series.ours { " b" } else { "" };
            let places: Vec<_> = series.points.iter().map(place).collect();
            svg.path(&format!("line{bold} s-{colour}"), &places);
            for (at, (x, y)) in places.iter().zip(&series.points) {
                let place = self.across.told(*x);
                let told = format!("{}, {place}: {}", series.peer, quantity(*y, self.unit));
                let radius = if series.ours { 4.0 } else { 3.0 };
                svg.dot(&format!("f-{colour}"), *at, radius, &told);
            }
        }
        self.labels(&mut svg, right, place);
        Some(svg.finish())
    }

    /// Draws what is across, and says where things are.
    fn across(&self, svg: &mut Svg, right: f64) -> impl Fn(f64) -> f64 + use<> {
        let (from, to) = (LEFT + 8.0, WIDTH - right - 8.0);
        let base = HEIGHT - BOTTOM;
        let points = self.series.iter().flat_map(|series| &series.points);
        let scale = Scale::over(points.map(|(x, _)| *x), from, to);
        let last = match &self.across {
            Axis::Timers => None,
            Axis::Places(names, _) => Some((names.len() - 1).max(1) as f64),
        };
        let at = move |x: f64| match last {
            None => scale.place(x),
            Some(last) => from + x / last * (to - from),
        };
        let named: Vec<(f64, String)> = match &self.across {
            Axis::Timers => {
                let ticks = scale.ticks(30.0).into_iter();
                ticks.map(|n| (n, timers(n))).collect()
            }
            Axis::Places(names, _) => {
                let names = names.iter().cloned().enumerate();
                names.map(|(at, name)| (at as f64, name)).collect()
            }
        };
        for (x, name) in named {
            svg.line("grid", (at(x), base), (at(x), base + 4.0));
            svg.text("mute", Anchor::Middle, (at(x), base + 18.0), &name);
        }
        svg.line("grid", (LEFT, base), (WIDTH - right, base));
        let what = match &self.across {
            Axis::Timers => "timers armed, logarithmic",
            Axis::Places(_, what) => what,
        };
        let middle = (LEFT + WIDTH - right) / 2.0;
        svg.text("mute", Anchor::Middle, (middle, HEIGHT - 8.0), what);
        at
    }

    fn told_at_end(&self, peer: &str, value: f64) -> String {
        format!("{} {}", label(peer), quantity(value, self.unit))
    }

    /// Room for the names at the ends of the lines.
    fn right(&self) -> f64 {
        let widths = self.series.iter().filter_map(|series| {
            let text = self.told_at_end(&series.peer, series.points.last()?.1);
            let letter = if series.ours { BOLD } else { LETTER };
            Some(text.chars().count() as f64 * letter)
        });
        LEAD + widths.fold(0.0, f64::max) + 4.0
    }

    /// The name of each line at its end, none above another.
    fn labels(&self, svg: &mut Svg, right: f64, place: impl Fn(&(f64, f64)) -> (f64, f64)) {
        let mut ends: Vec<_> = self
            .series
            .iter()
            .filter_map(|series| {
                let end = series.points.last()?;
                Some((series, end.1, place(end)))
            })
            .collect();
        ends.sort_by(|(_, _, a), (_, _, b)| a.1.total_cmp(&b.1));
        let wanted: Vec<_> = ends.iter().map(|(_, _, end)| end.1).collect();
        let heights = spread(&wanted, TOP, HEIGHT - BOTTOM);
        let x = WIDTH - right + LEAD;
        for ((series, value, end), y) in ends.iter().zip(heights) {
            let colour = colour(&series.peer);
            svg.path("lead", &[(end.0 + 5.0, end.1), (x - 8.0, y), (x - 3.0, y)]);
            let bold = if series.ours { " b" } else { "" };
            let text = self.told_at_end(&series.peer, *value);
            let class = format!("f-{colour}{bold}");
            svg.text(&class, Anchor::Start, (x, y + 4.0), &text);
        }
    }
}

impl Axis {
    fn told(&self, x: f64) -> String {
        match self {
            Self::Timers => format!("{} timers", timers(x)),
            Self::Places(names, _) => names[x as usize].clone(),
        }
    }
}

/// A round number of timers.
fn timers(n: f64) -> String {
    match n {
        1e6.. => format!("{}M", n / 1e6),
        1e3.. => format!("{}k", n / 1e3),
        _ => format!("{n}"),
    }
}

/// Moves heights, which are in order, as little apart as is needed.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut heights = wanted.to_vec();
    for at in 1..heights.len() {
        heights[at] = heights[at].max(heights[at - 1] + APART);
    }
    // Those that were pushed down share what they are too low.
    let below = |heights: &[f64]| {
        let last = heights.last().copied().unwrap_or(bottom);
        (last - bottom).max(0.0)
    };
    let too_low = below(&heights);
    if let Some(last) = heights.last_mut() {
        *last -= too_low;
    }
    for at in (1..heights.len()).rev() {
        heights[at - 1] = heights[at - 1].min(heights[at] - APART);
    }
    let too_high = heights
        .first()
        .map_or(0.0, |first| (top - 10.0 - first).max(0.0));
    heights.iter().map(|height| height + too_high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_inside() {
        let heights = spread(&[100.0, 101.0, 102.0, 295.0, 299.0], 50.0, 300.0);
        for pair in heights.windows(2) {
            assert!(pair[1] - pair[0] >= APART - 1e-9, "{heights:?}");
        }
        assert!(heights[4] <= 300.0, "{heights:?}");
    }
}
