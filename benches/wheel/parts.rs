//! The parts of a timer's life, each by itself, for Criterion. Nanoseconds per timer.

use std::time::Duration;

use crate::figures::nanos;
use crate::peers::Peer;
use crate::suite::Setting;
use crate::workloads::Population;

pub(crate) fn arm<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = setting.scenario();
    let mut population = Population::<P>::new(&scenario);
    mean(setting, || {
        population.cancel();
        population.arm()
    })
}

pub(crate) fn cancel_arm<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = setting.scenario();
    let mut population = Population::<P>::scattered(&scenario);
    mean(setting, || population.cancel_arm())
}

pub(crate) fn rearm<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = setting.scenario();
    let mut population = Population::<P>::scattered(&scenario);
    mean(setting, || population.rearm())
}

pub(crate) fn refresh<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = setting.scenario();
    let mut population = Population::<P>::scattered(&scenario);
    population.put_off();
    mean(setting, || population.refresh())
}

/// Each pass with timers of its own: they have all fired then.
pub(crate) fn expire<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = setting.scenario();
    mean(setting, || Population::<P>::mixed(&scenario).expire())
}

fn mean(setting: &Setting, mut pass: impl FnMut() -> Duration) -> Vec<f64> {
    let total = (0..setting.passes).map(|_| pass()).sum();
    vec![nanos(total) / (setting.passes * setting.n) as f64]
}
