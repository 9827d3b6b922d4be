//! Charts in SVG: lines over a logarithmic scale, and pairs of dots.
//!
//! Colours follow the reader's choice of a
//! light or dark scheme, so a picture can stand anywhere. Everything is labelled where it is; there
//! is no legend to look up.

mod dots;
mod lines;
mod scale;
mod svg;

pub(crate) use dots::{Dots, Row};
pub(crate) use lines::{Axis, Lines, Series};
pub(crate) use scale::{Unit, quantity};
pub(crate) use svg::escape;

/// The colour of a peer, the same in all pictures: a class of [`svg::STYLE`].
pub(crate) fn colour(peer: &str) -> &'static str {
    let colours: [(&str, &str); 17] = [
        ("tickwheel", "us"),
        ("SharedWheel, &", "us2"),
        ("SharedWheel", "us"),
        ("Sessions", "us"),
        ("SessionStore", "us2"),
        ("nexus", "p1"),
        ("Mutex<nexus", "p1"),
        ("moka", "p1"),
        ("DelayQueue", "p2"),
        ("tokio", "p2"),
        ("hierarchical", "p3"),
        ("mini-moka", "p3"),
        ("BTreeMap", "p4"),
        ("Mutex<Wheel> per", "p5"),
        ("Mutex<Wheel>", "p4"),
        ("smol", "p4"),
        ("Wheel, one", "us2"),
    ];
    let found = colours.iter().find(|(start, _)| peer.starts_with(start));
    found.map_or("p5", |(_, colour)| colour)
}

/// The name of a peer, short enough to stand beside a line.
pub(crate) fn label(peer: &str) -> String {
    peer.replace(
        "hierarchical_hash_wheel_timer thread, until ",
        "hier. hash wheel, ",
    )
    .replace("hierarchical_hash_wheel_timer", "hier. hash wheel timer")
    .replace("BinaryHeap + HashMap", "BinaryHeap + map")
    .replace(
        "tower-sessions MemoryStore, load + save",
        "tower-sessions memory",
    )
}
