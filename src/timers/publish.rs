//! Metrics, for whichever recorder the process has installed.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use std::sync::Mutex;

use metrics::{SharedString, Unit};

use super::histogram::rank;
use super::{Histogram, Shared, Stats, Timers};
use crate::Timestamp;
use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicU64;

/// How often the driver publishes, at most.
const PERIOD: Duration = Duration::from_secs(1);

/// The quantiles that are published, and by which label.
const QUANTILES: [(&str, f64); 3] = [("0.5", 0.5), ("0.99", 0.99), ("1", 1.0)];

type Count = (&'static str, &'static str, fn(&Stats) -> u64);

const COUNTERS: [Count; 14] = [
    (
        "tickwheel_timers_fired_total",
        "Timers that fired.",
        |stats| stats.fired,
    ),
    (
        "tickwheel_timers_cancelled_total",
        "Timers cancelled.",
        |stats| stats.cancelled,
    ),
    (
        "tickwheel_timers_rearmed_total",
        "Timers moved or suspended.",
        |stats| stats.rearmed,
    ),
    (
        "tickwheel_timers_cascaded_total",
        "Timers moved to a finer level.",
        |stats| stats.cascaded,
    ),
    (
        "tickwheel_timers_vetoed_total",
        "Firings vetoed.",
        |stats| stats.vetoed,
    ),
    (
        "tickwheel_timers_postponed_total",
        "Firings postponed.",
        |stats| stats.postponed,
    ),
    (
        "tickwheel_timers_abandoned_total",
        "Callbacks an executor dropped.",
        |stats| stats.abandoned,
    ),
    (
        "tickwheel_timers_gave_up_total",
        "Fallible timers given up.",
        |stats| stats.gave_up,
    ),
    (
        "tickwheel_timers_returned_total",
        "Timers ended by a shutdown.",
        |stats| stats.returned,
    ),
    (
        "tickwheel_husks_total",
        "Places of cancelled timers met.",
        |stats| stats.husks,
    ),
    ("tickwheel_failures_total", "Failed attempts.", |stats| {
        stats.failures
    }),
    ("tickwheel_panics_total", "Panics caught.", |stats| {
        stats.panics
    }),
    (
        "tickwheel_overruns_total",
        "Callbacks that took too long.",
        |stats| stats.overruns,
    ),
    (
        "tickwheel_wake_ups_total",
        "Wake-ups of the driver.",
        |stats| stats.wake_ups,
    ),
];

const ARMED: &str = "tickwheel_timers_armed";
const FAILING: &str = "tickwheel_timers_failing";
const OVERDUE: &str = "tickwheel_overdue_seconds";
const LATENESS: &str = "tickwheel_lateness_seconds";
const BATCH: &str = "tickwheel_batch_duration_seconds";

/// What is remembered from one publication to the next.
#[derive(Debug)]
pub(super) struct Published {
    /// The label of everything that is published.
    name: SharedString,
    /// When the driver is to publish again, in nanoseconds of the runtime's clock.
    next: AtomicU64,
    /// What the histograms of lateness and of batches held last. Held for a subtraction.
    last: Mutex<[Buckets; 2]>,
}

type Buckets = Vec<(Duration, u64)>;

// === impl Timers ===

impl Timers {
    /// Publishes what [`stats`](Self::stats) and the histograms hold to the recorder of the `metrics` crate that
    /// is installed, or is the local one of this thread. Nothing happens if there is none.
    ///
    /// Whoever drives does the same after a turn, once a second at most; and a thread that drives does
    /// when it ends. A driver that sleeps publishes nothing: an exporter that wants present numbers calls
    /// this when it is asked for them. It takes some microseconds, a few for each metric at most, as the recorder
    /// does. Firing itself records nothing more than without the feature.
    ///
    /// Everything bears the label `timers`, which is the [name](super::TimersBuilder::thread_name) of the
    /// runtime. Counters are published as absolute values: two runtimes of one name overwrite each other.
    ///
    /// | metric | kind | what |
    /// |---|---|---|
    /// | `tickwheel_timers_armed` | gauge | [`Stats::armed`] |
    /// | `tickwheel_timers_failing` | gauge | [`Stats::failing`] |
    /// | `tickwheel_overdue_seconds` | gauge | [`overdue`](Self::overdue) |
    /// | `tickwheel_lateness_seconds` | gauge | [`lateness`](Self::lateness), by `quantile` |
    /// | `tickwheel_batch_duration_seconds` | gauge | [`batch_durations`](Self::batch_durations), by `quantile` |
    /// | `tickwheel_timers_{fired, cancelled, rearmed, cascaded, vetoed, postponed, abandoned, gave_up, returned}_total` | counter | [`Stats`] |
    /// | `tickwheel_{husks, failures, panics, overruns, wake_ups}_total` | counter | [`Stats`] |
    ///
    /// `quantile` is `0.5`, `0.99` or `1` of what was recorded since the last publication, by whomever; at most 25%
    /// too large, as with any [`Histogram`]; zero if nothing was. They are gauges, since a histogram of the
    /// recorder's would cost every firing a call of it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder()
    ///     .thread_name("sessions")
    ///     .clock(ManualClock::new())
    ///     .build_hand_driven()?;
    /// timers.arm(Duration::from_secs(1), |_| {})?;
    /// timers.publish_metrics(); // tickwheel_timers_armed{timers="sessions"} is 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn publish_metrics(&self) {
        self.shared.publish_now();
    }
}

/// Says what the metrics are. Recorders differ in whether they remember it.
fn describe() {
    for (name, text, _) in COUNTERS {
        metrics::describe_counter!(name, Unit::Count, text);
    }
    metrics::describe_gauge!(ARMED, Unit::Count, "Timers armed now.");
    metrics::describe_gauge!(
        FAILING,
        Unit::Count,
        "Fallible timers that will be tried again."
    );
    metrics::describe_gauge!(
        OVERDUE,
        Unit::Seconds,
        "How long the oldest timer has been due."
    );
    metrics::describe_gauge!(
        LATENESS,
        Unit::Seconds,
        "Lateness of the timers fired since the last publication."
    );
    metrics::describe_gauge!(
        BATCH,
        Unit::Seconds,
        "How long the batches since the last publication took."
    );
}

// === impl Published ===

impl Published {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: SharedString::from(String::from(name)),
            next: AtomicU64::new(0),
            last: Mutex::default(),
        }
    }

    /// Whether the driver is to publish now. If so, not again for a period.
    fn is_due(&self, now: Timestamp) -> bool {
        // ORDERING: Relaxed, both. Whoever changes the number publishes; nothing else is passed on.
        let next = self.next.load(Ordering::Relaxed);
        let then = now.saturating_add(PERIOD).as_nanos();
        now.as_nanos() >= next
            && self
                .next
                .compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The quantiles of what was recorded since the last call.
    fn since(&self, histograms: &[Histogram; 2]) -> [[Duration; 3]; 2] {
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let [lateness, batches] = &mut *last;
        [
            quantiles(lateness, &histograms[0]),
            quantiles(batches, &histograms[1]),
        ]
    }
}

/// The quantiles of what a histogram holds beyond `last`, which becomes what it holds.
fn quantiles(last: &mut Buckets, histogram: &Histogram) -> [Duration; 3] {
    let now: Buckets = histogram.buckets().collect();
    // Counts do not fall, so that what was there last is there now, in the same order.
    let mut before = last.iter().peekable();
    let new = now.iter().map(|(span, count)| {
        let old = before.next_if(|(old, _)| old == span);
        // Of two who publish at once, the later may have read first.
        (
            *span,
            count.saturating_sub(old.map_or(0, |(_, count)| *count)),
        )
    });
    let new: Buckets = new.collect();
    *last = now;
    let total: u64 = new.iter().map(|(_, count)| count).sum();
    QUANTILES.map(|(_, quantile)| {
        let wanted = rank(total, quantile);
        let mut seen = 0;
        let reached = new.iter().find(|(_, count)| {
            seen += count;
            *count > 0 && seen >= wanted
        });
        reached.map_or(Duration::ZERO, |(span, _)| (*span).min(histogram.max()))
    })
}

// === impl Shared ===

impl Shared {
    /// Publishes, if it is time to. For whoever drives, and not in a turn.
    pub(super) fn publish_in_time(&self, now: Timestamp) {
        if self.published.is_due(now) {
            self.publish();
        }
    }

    /// Publishes. The recorder is somebody's code.
    #[cold]
    pub(super) fn publish(&self) {
        self.caught(|| self.publish_now());
    }

    fn publish_now(&self) {
        let (stats, published) = (self.stats(), &self.published);
        describe();
        for (name, _, count) in COUNTERS {
            metrics::counter!(target: "tickwheel", name, "timers" => published.name.clone())
                .absolute(count(&stats));
        }
        let set = |name: &'static str, value: f64| {
            metrics::gauge!(target: "tickwheel", name, "timers" => published.name.clone())
                .set(value);
        };
        set(ARMED, stats.armed as f64);
        set(FAILING, stats.failing as f64);
        set(OVERDUE, self.overdue().as_secs_f64());
        let histograms = [self.counters.lateness.read(), self.counters.batches.read()];
        for (name, values) in [LATENESS, BATCH].iter().zip(published.since(&histograms)) {
            for ((quantile, _), value) in QUANTILES.iter().zip(values) {
                metrics::gauge!(
                    target: "tickwheel", *name,
                    "timers" => published.name.clone(), "quantile" => *quantile
                )
                .set(value.as_secs_f64());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Property: quantiles are those of what came since the last publication.

    use super::*;
    use crate::timers::histogram::Recorder;

    #[test]
    fn quantiles_are_of_what_came_since() {
        let ms = Duration::from_millis;
        let (recorder, mut last) = (Recorder::new(), Vec::new());
        assert_eq!(quantiles(&mut last, &recorder.read()), [Duration::ZERO; 3]);
        for millis in 1..=100 {
            recorder.record(ms(millis));
        }
        let [median, high, max] = quantiles(&mut last, &recorder.read());
        assert!(median >= ms(50) && median <= ms(63), "{median:?}");
        assert!(high >= ms(99) && max == ms(100), "{high:?} {max:?}");
        assert_eq!(quantiles(&mut last, &recorder.read()), [Duration::ZERO; 3]);
        recorder.record(ms(2));
        let all = quantiles(&mut last, &recorder.read());
        assert!(
            all.iter().all(|span| *span >= ms(2) && *span < ms(3)),
            "{all:?}"
        );
    }

    #[test]
    fn the_driver_publishes_once_in_a_period() {
        let published = Published::new("any");
        let at = |millis| Timestamp::from_duration(Duration::from_millis(millis));
        assert!(published.is_due(at(0)));
        assert!(!published.is_due(at(999)));
        assert!(published.is_due(at(1000)));
        assert!(!published.is_due(at(1001)));
    }
}
