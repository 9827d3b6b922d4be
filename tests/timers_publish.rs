//! What recorders of `metrics` and subscribers of `tracing` get.
//!
//! Properties: each number is published under its name, with the label of the runtime, and is what
//! `stats` says; quantiles are of the time since the last publication; the driver publishes by itself;
//! each thing that goes wrong is one event of its level; recorders and subscribers that
//! panic harm nobody.

#![cfg(any(feature = "metrics", feature = "tracing"))]

use std::time::Duration;

use tickwheel::{ManualClock, Timers, TimersBuilder};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Events are told apart by the name.
fn named(name: &str) -> TimersBuilder {
    #[cfg(feature = "tracing")]
    traced::kept();
    Timers::builder().thread_name(name)
}

fn by_hand(name: &str) -> (Timers, ManualClock) {
    let clock = ManualClock::new();
    let timers = named(name)
        .clock(clock.clone())
        .on_overrun(ms(1), |_| {})
        .build_hand_driven()
        .unwrap();
    (timers, clock)
}

#[cfg(feature = "metrics")]
mod recorded {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Instant;

    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    };
    use tickwheel::Backoff;

    use super::*;

    /// Keeps what is published, under the name and the labels.
    #[derive(Clone, Default)]
    struct Kept {
        values: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
        described: Arc<Mutex<BTreeMap<String, Option<Unit>>>>,
    }

    impl Kept {
        fn cell(&self, key: &Key) -> Arc<AtomicU64> {
            let labels = key.labels().map(|label| (label.key(), label.value()));
            let labels: BTreeMap<_, _> = labels.collect();
            let name = format!("{} {labels:?}", key.name());
            let mut values = self.values.lock().unwrap();
            Arc::clone(values.entry(name).or_default())
        }

        fn describe(&self, name: &KeyName, unit: Option<Unit>) {
            let mut described = self.described.lock().unwrap();
            described.insert(name.as_str().to_owned(), unit);
        }

        fn bits(&self, name: &str) -> u64 {
            let values = self.values.lock().unwrap();
            let Some(value) = values.get(name) else {
                panic!("no {name} among {:?}", values.keys());
            };
            value.load(Ordering::SeqCst)
        }

        fn gauge(&self, name: &str) -> f64 {
            f64::from_bits(self.bits(name))
        }
    }

    impl Recorder for Kept {
        fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
            self.describe(&name, unit);
        }

        fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
            self.describe(&name, unit);
        }

        fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
            panic!("{name:?} is no histogram");
        }

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.cell(key))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.cell(key))
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            panic!("{key:?} is no histogram");
        }
    }

    #[test]
    fn what_is_published_is_what_stats_say() {
        let (timers, clock) = by_hand("numbers");
        let kept = Kept::default();
        let key = timers.arm(ms(50), |_| {}).unwrap();
        timers.rearm(key, ms(60)).unwrap();
        assert!(timers.cancel(key).is_cancelled());
        timers
            .arm_fallible(ms(1), Backoff::default(), |_| Err("never"))
            .unwrap();
        timers.arm(ms(1), |_| {}).unwrap();
        timers.arm(ms(1), |_| panic!("counted")).unwrap();
        timers.arm(Duration::MAX, |_| {}).unwrap();
        clock.advance(ms(1));
        metrics::with_local_recorder(&kept, || timers.turn_fully().unwrap());
        clock.advance(Duration::from_secs(100));
        metrics::with_local_recorder(&kept, || timers.publish_metrics());

        let stats = timers.stats();
        for (name, value) in [
            ("timers_fired_total", stats.fired),
            ("timers_cancelled_total", stats.cancelled),
            ("timers_rearmed_total", stats.rearmed),
            ("timers_cascaded_total", stats.cascaded),
            ("timers_vetoed_total", 0),
            ("timers_postponed_total", 0),
            ("timers_abandoned_total", 0),
            ("timers_gave_up_total", 0),
            ("timers_returned_total", 0),
            ("husks_total", stats.husks),
            ("failures_total", 1),
            ("panics_total", 1),
            ("overruns_total", 0),
            ("wake_ups_total", 0),
        ] {
            let name = format!("tickwheel_{name} {{\"timers\": \"numbers\"}}");
            assert_eq!(kept.bits(&name), value, "{name}");
        }
        assert_eq!((stats.fired, stats.cancelled, stats.rearmed), (3, 1, 1));
        let gauge = |name: &str| kept.gauge(&format!("{name} {{\"timers\": \"numbers\"}}"));
        assert_eq!(gauge("tickwheel_timers_armed"), 2.0);
        assert_eq!(gauge("tickwheel_timers_failing"), 1.0);
        let overdue = gauge("tickwheel_overdue_seconds");
        assert!(overdue > 90.0 && overdue < 100.0, "{overdue}");

        let described = kept.described.lock().unwrap();
        for name in kept.values.lock().unwrap().keys() {
            let name = name.split(' ').next().unwrap();
            let unit = if name.ends_with("_seconds") {
                Unit::Seconds
            } else {
                Unit::Count
            };
            assert_eq!(described.get(name), Some(&Some(unit)), "{name}");
        }
    }

    #[test]
    fn quantiles_are_of_the_time_since_the_last_publication() {
        let (timers, clock) = by_hand("quantiles");
        let kept = Kept::default();
        let late = |quantile: &str| {
            let labels = format!("{{\"quantile\": \"{quantile}\", \"timers\": \"quantiles\"}}");
            kept.gauge(&format!("tickwheel_lateness_seconds {labels}"))
        };
        timers.turn().unwrap(); // publishes, and not again for a second
        for (lateness, expected) in [(40, 0.04), (8, 0.008)] {
            timers.arm(ms(10), |_| {}).unwrap();
            clock.advance(ms(10 + lateness));
            timers.turn_fully().unwrap();
            metrics::with_local_recorder(&kept, || timers.publish_metrics());
            for quantile in ["0.5", "0.99", "1"] {
                let value = late(quantile);
                assert!(
                    value >= expected && value <= expected * 1.25,
                    "{quantile}: {value}"
                );
            }
        }
        metrics::with_local_recorder(&kept, || timers.publish_metrics());
        assert_eq!(late("1"), 0.0);
    }

    #[test]
    fn the_driver_publishes_to_the_recorder_of_the_process() {
        let kept = Kept::default();
        metrics::set_global_recorder(kept.clone()).unwrap();
        let timers = named("driven").build().unwrap();
        timers.arm(ms(1), |_| {}).unwrap();
        let start = Instant::now();
        let fired = "tickwheel_timers_fired_total {\"timers\": \"driven\"}";
        // By the turns of the first second, or when the thread ends.
        drop(timers);
        while !kept.values.lock().unwrap().contains_key(fired) {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(ms(1));
        }
    }

    #[test]
    fn a_recorder_that_panics_is_caught() {
        struct Panics;
        impl Recorder for Panics {
            fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
            fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
            fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
            fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
                panic!("a recorder that panics")
            }
            fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
                Gauge::noop()
            }
            fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
                Histogram::noop()
            }
        }
        let (timers, clock) = by_hand("bad recorder");
        timers.arm(ms(1), |_| {}).unwrap();
        clock.advance(ms(1));
        let turned = metrics::with_local_recorder(&Panics, || timers.turn());
        assert_eq!(turned.unwrap().fired, 1);
        assert_eq!(timers.stats().panics, 1);
    }
}

#[cfg(feature = "tracing")]
mod traced {
    use std::fmt::Debug;
    use std::sync::{Mutex, OnceLock};
    use std::thread;
    use std::time::Instant;

    use tickwheel::{Backoff, Shutdown};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    use super::*;

    /// Keeps the events of the crate: the level, and all fields. Panics about those of one runtime.
    #[derive(Default)]
    pub(super) struct Kept(Mutex<Vec<(Level, String)>>);

    const PANICS: &str = "timers=\"panics\"";

    struct Fields(String);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.push_str(&format!("{}={value:?} ", field.name()));
        }
    }

    impl Subscriber for &'static Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "tickwheel"
        }

        fn event(&self, event: &Event<'_>) {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            let panics = fields.0.contains(PANICS);
            let level = *event.metadata().level();
            self.0.lock().unwrap().push((level, fields.0));
            assert!(!panics, "a subscriber that panics");
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    /// The subscriber of all tests, installed before any runtime is made: one that comes while events are
    /// first met elsewhere may miss them.
    pub(super) fn kept() -> &'static Kept {
        static KEPT: OnceLock<Kept> = OnceLock::new();
        static INSTALLED: OnceLock<()> = OnceLock::new();
        let kept = KEPT.get_or_init(Kept::default);
        INSTALLED.get_or_init(|| tracing::subscriber::set_global_default(kept).unwrap());
        kept
    }

    /// The events of a level, of the runtime of that name.
    fn events(name: &str, level: Level) -> Vec<String> {
        let name = format!("timers=\"{name}\"");
        let events = kept().0.lock().unwrap();
        let of = events
            .iter()
            .filter(|(of, text)| *of == level && text.contains(&name));
        of.map(|(_, text)| text.clone()).collect()
    }

    /// One that panics, one that fails, one that is slow; and a shutdown.
    fn much_goes_wrong(name: &str) -> Timers {
        let (timers, clock) = by_hand(name);
        let options = timers.options().label("fuse");
        options.arm(ms(1), |_| panic!("blown")).unwrap();
        let failing = timers.options().label("upload");
        failing
            .arm_fallible(ms(2), Backoff::default(), |_| Err("no answer"))
            .unwrap();
        let slow = timers.options().label("slow");
        let hand = clock.clone();
        slow.arm(ms(3), move |_| {
            hand.advance(ms(2));
        })
        .unwrap();
        clock.advance(ms(3));
        assert_eq!(timers.turn_fully().unwrap().fired, 3);
        timers.shutdown(Shutdown::Drop);
        timers
    }

    #[test]
    fn each_thing_that_goes_wrong_is_an_event_of_its_level() {
        much_goes_wrong("wrong");
        let has = |level, wanted: &[&str]| {
            let events = events("wrong", level);
            let found = events
                .iter()
                .filter(|event| wanted.iter().all(|part| event.contains(part)));
            assert_eq!(found.count(), 1, "{wanted:?} in {events:#?}");
        };
        has(Level::ERROR, &["label=fuse", "panic=blown"]);
        has(Level::WARN, &["label=upload", "attempt=1", "\"no answer\""]);
        has(Level::WARN, &["label=slow", "took=2ms"]);
        has(Level::DEBUG, &["mode=Drop"]);
        has(Level::TRACE, &["fired=3", "took=2ms"]);
        assert_eq!(events("wrong", Level::ERROR).len(), 1);
        assert_eq!(events("wrong", Level::WARN).len(), 2);
    }

    #[test]
    fn an_alarm_is_a_warning_and_its_end_is_not() {
        let start = Instant::now();
        let wait_for = |level, text: &str| {
            while !events("watched", level)
                .iter()
                .any(|event| event.contains(text))
            {
                assert!(start.elapsed() < Duration::from_secs(60), "no {text}");
                thread::sleep(ms(1));
            }
        };
        let timers = named("watched")
            .clock(ManualClock::new())
            .watchdog(ms(5), |_| {})
            .build_hand_driven()
            .unwrap();
        let key = timers.arm(ms(1), |_| {}).unwrap();
        wait_for(Level::WARN, "alarm=the clock has stood at");
        assert!(timers.cancel(key).is_cancelled());
        wait_for(Level::INFO, "alarm=over after");
    }

    #[test]
    fn a_subscriber_that_panics_is_caught_and_no_timer_is_lost() {
        let timers = much_goes_wrong("panics");
        // One of the callback, and one for each event.
        assert_eq!(timers.stats().panics, 1 + 5);
    }
}
