//! What a soak looks like over time, in numbers and as a picture.

use std::time::Duration;

/// What was seen at one time.
pub(crate) struct Sample {
    pub(crate) at: Duration,
    /// Bytes of memory in use.
    pub(crate) resident: usize,
    pub(crate) armed: usize,
    /// Timers that have fired since the start.
    pub(crate) fired: u64,
}

#[derive(Default)]
pub(crate) struct Samples(Vec<Sample>);

const WIDTH: f64 = 704.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 40.0;
const PANEL: f64 = 96.0;
const GAP: f64 = 40.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#57606a}.t{font-size:14px;font-weight:600;fill:#1f2328}\
    .g{stroke:#d0d7de}.l{fill:none;stroke:#0969da;stroke-width:1.5}\
    @media(prefers-color-scheme:dark){text{fill:#9198a1}.t{fill:#f0f6fc}.g{stroke:#3d444d}.l{stroke:#4493f8}}";

impl Samples {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// The most and the least memory in the second and in the last tenth of the time: when all is warm, and at the end.
    fn ends(&self) -> [(usize, usize); 2] {
        let tenth = self.0.len() / 10;
        let parts = [&self.0[tenth..2 * tenth], &self.0[self.0.len() - tenth..]];
        parts.map(|part| {
            let resident = || part.iter().map(|sample| sample.resident);
            (resident().min().unwrap_or(0), resident().max().unwrap_or(0))
        })
    }

    pub(crate) fn report(&self) {
        let [(low, high), (last_low, last_high)] =
            self.ends().map(|(low, high)| (mib(low), mib(high)));
        println!(
            "  memory: {low:.2} to {high:.2} MiB in the second tenth of the time, {last_low:.2} to {last_high:.2} MiB in the last"
        );
    }

    /// Mebibytes, at most: in the second and in the last tenth of the time.
    pub(crate) fn most(&self) -> [f64; 2] {
        self.ends().map(|(_, most)| mib(most))
    }

    /// At the end there is no more memory in use than when all was warm; a sixteenth is left to the allocator.
    pub(crate) fn assert_flat(&self) {
        let [(_, warm), (_, last)] = self.ends();
        assert!(
            last <= warm + warm / 16,
            "memory grows: {warm} bytes, then {last}"
        );
    }

    /// Memory, timers that are armed, and timers that fire in a second, each over time, from zero.
    pub(crate) fn draw(&self) -> String {
        let of = |value: fn(&Sample) -> f64| self.0.iter().map(value).collect();
        let panels: [(&str, Vec<f64>); 3] = [
            ("memory in use, MiB", of(|sample| mib(sample.resident))),
            (
                "timers armed, thousands",
                of(|sample| thousands(sample.armed as f64)),
            ),
            ("fired in a second, thousands", self.rates()),
        ];
        let height = 40.0 + panels.len() as f64 * (PANEL + GAP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
             <title>Soak: memory over time</title><style>{STYLE}</style>\n\
             <text class=\"t\" x=\"8\" y=\"20\">Two threads arm, cancel, move and suspend for {:.0} s</text>\n",
            self.end()
        );
        for (nth, (what, values)) in panels.iter().enumerate() {
            let base = 40.0 + nth as f64 * (PANEL + GAP) + PANEL;
            self.panel(&mut svg, base, what, values);
        }
        svg + "</svg>\n"
    }

    /// One curve, which stands on `base`.
    fn panel(&self, svg: &mut String, base: f64, what: &str, values: &[f64]) {
        let end = self.end();
        let across = |at: f64| LEFT + at / end * (WIDTH - LEFT - RIGHT);
        let most = values.iter().copied().fold(1e-9, f64::max);
        let upward = |value: f64| base - value / most * (PANEL - 22.0);
        let (left, right, name) = (LEFT - 6.0, WIDTH - RIGHT, base - PANEL + 8.0);
        let mut line = |text: String| {
            svg.push_str(&text);
            svg.push('\n');
        };
        line(format!("<text x=\"{LEFT}\" y=\"{name}\">{what}</text>"));
        for level in [0.0, most] {
            let (y, text) = (upward(level), upward(level) + 4.0);
            line(format!("<path class=\"g\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            line(format!(
                "<text x=\"{left}\" y=\"{text:.1}\" text-anchor=\"end\">{level:.1}</text>"
            ));
        }
        let points = self.0.iter().zip(values).map(|(sample, value)| {
            let (x, y) = (across(sample.at.as_secs_f64()), upward(*value));
            format!("{x:.1} {y:.1}")
        });
        let points: Vec<_> = points.collect();
        line(format!("<path class=\"l\" d=\"M{}\"/>", points.join("L")));
        for quarter in 0..=4 {
            let at = end * f64::from(quarter) / 4.0;
            let (x, y) = (across(at), base + 16.0);
            line(format!(
                "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{at:.0} s</text>"
            ));
        }
    }

    /// Seconds of all of it.
    fn end(&self) -> f64 {
        self.0.last().map_or(1.0, |sample| sample.at.as_secs_f64())
    }

    /// Thousands that have fired in a second, since the sample before.
    fn rates(&self) -> Vec<f64> {
        let mut before = (Duration::ZERO, 0);
        let rate = |sample: &Sample| {
            let span = (sample.at - before.0).as_secs_f64().max(1e-9);
            let fired = sample.fired - before.1;
            before = (sample.at, sample.fired);
            thousands(fired as f64 / span)
        };
        self.0.iter().map(rate).collect()
    }
}

fn thousands(count: f64) -> f64 {
    count / 1e3
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / 1_048_576.0
}
