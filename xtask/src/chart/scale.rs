//! A logarithmic scale, and quantities in words.

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Bytes,
}

impl Unit {
    /// From what a bench writes: the unit, and by how much its figures are multiplied. Nothing for
    /// what is a mere count.
    pub(crate) fn of(unit: &str) -> Option<(Self, f64)> {
        match unit {
            "ns" => Some((Self::Nanoseconds, 1.0)),
            "µs" => Some((Self::Nanoseconds, 1e3)),
            "ms" => Some((Self::Nanoseconds, 1e6)),
            "B/timer" | "B" => Some((Self::Bytes, 1.0)),
            "KiB" => Some((Self::Bytes, 1024.0)),
            _ => None,
        }
    }
}

/// With a unit that suits it, to three digits.
pub(crate) fn quantity(value: f64, unit: Unit) -> String {
    let units: &[(f64, &str)] = match unit {
        Unit::Nanoseconds => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
        Unit::Bytes => &[
            (1_073_741_824.0, "GiB"),
            (1_048_576.0, "MiB"),
            (10_240.0, "KiB"),
            (1.0, "B"),
        ],
    };
    // What rounds up to the next unit is told in it.
    let found = units.iter().find(|(size, _)| value >= size * 0.9995);
    let (size, name) = found.unwrap_or(&units[units.len() - 1]);
    let size = if *name == "KiB" { 1024.0 } else { *size };
    let value = value / size;
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {name}")
}

/// From values to places in a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Over all of `values`, with some room at both ends. What is not above zero has no place.
    pub(crate) fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let (low, high) = positive.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        Self {
            low: low.min(high) / 1.25,
            high: high * 1.25,
            from,
            to,
        }
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Round values to label, none closer to the next than `apart`: powers of ten, and what lies
    /// between where there are few.
    pub(crate) fn ticks(&self, apart: f64) -> Vec<f64> {
        let powers = (-3..13).map(|power| 10_f64.powi(power));
        let within = |steps: &[f64]| -> Vec<f64> {
            let all = powers
                .clone()
                .flat_map(|power| steps.iter().map(move |step| step * power));
            all.filter(|tick| (self.low..=self.high).contains(tick))
                .collect()
        };
        let finer: [&[f64]; 5] = [
            &[1.0],
            &[1.0, 3.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
            &[
                1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0,
            ],
        ];
        let mut ticks = finer.into_iter().map(within);
        let enough = ticks.find(|ticks| ticks.len() >= 3);
        let all = enough.unwrap_or_else(|| vec![self.low * 1.25, self.high / 1.25]);
        let mut kept: Vec<f64> = Vec::new();
        for tick in all {
            let last = kept.last().map(|last| self.place(*last));
            if last.is_none_or(|last| (self.place(tick) - last).abs() >= apart) {
                kept.push(tick);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit_that_suits() {
        let cases = [
            (1.0, "1 ns"),
            (12.34, "12.3 ns"),
            (999.9, "1 µs"),
            (1_234_567.0, "1.23 ms"),
            (0.5, "0.5 ns"),
            (100.0, "100 ns"),
        ];
        for (value, text) in cases {
            assert_eq!(quantity(value, Unit::Nanoseconds), text, "{value}");
        }
        assert_eq!(quantity(10_527.0, Unit::Bytes), "10.3 KiB");
        assert_eq!(quantity(4_123.0, Unit::Bytes), "4123 B");
    }

    #[test]
    fn a_scale_keeps_ratios() {
        let scale = Scale::over([1.0, 10.0, 100.0].into_iter(), 0.0, 1.0);
        let steps = [1.0, 10.0, 100.0].map(|value| scale.place(value));
        let (first, second) = (steps[1] - steps[0], steps[2] - steps[1]);
        assert!((first - second).abs() < 1e-9, "{first} and {second}");
        assert_eq!(scale.ticks(0.1), [1.0, 10.0, 100.0]);
        assert_eq!(scale.ticks(0.5), [1.0, 100.0], "labels would touch");
    }
}
