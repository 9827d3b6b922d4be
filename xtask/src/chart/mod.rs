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

/// What a picture shows of the first of ours, which is meant to be used, beside the best of the others: the
/// class of the text, and the text. Nothing where one of them is missing.
pub(crate) fn verdict<'a>(
    ends: impl Iterator<Item = (&'a str, bool, f64)>,
    unit: Unit,
) -> Option<(&'static str, String)> {
    let (ours, others): (Vec<_>, Vec<_>) = ends.partition(|(_, ours, _)| *ours);
    let best = others.iter().min_by(|(_, _, a), (_, _, b)| a.total_cmp(b));
    let ((us, _, ours), (peer, _, other)) = (ours.first()?, best?);
    let (us, peer) = (label(us), label(peer));
    let more = match unit {
        Unit::Nanoseconds => "as long",
        Unit::Bytes => "as much",
    };
    let times = |ratio: f64| {
        let digits = if ratio < 9.95 { 1 } else { 0 };
        format!("{ratio:.digits$}×")
    };
    Some(match other / ours {
        ratio @ 1.05.. => ("", format!("{peer} takes {} {more}", times(ratio))),
        ..0.95 => {
            let text = format!("{us} takes {} {more} as {peer}", times(ours / other));
            ("loss", text)
        }
        _ => ("", format!("{us} is level with {peer}")),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_who_is_ahead_and_by_how_much() {
        let of = |ours: f64, unit| {
            let ends = [
                ("slow", false, 90.0),
                ("us", true, ours),
                ("quick", false, 20.0),
            ];
            verdict(ends.into_iter(), unit).expect("there is a peer")
        };
        let ahead = of(10.0, Unit::Nanoseconds);
        assert_eq!(ahead, ("", "quick takes 2.0× as long".into()));
        let ahead = of(10.0, Unit::Bytes);
        assert_eq!(ahead, ("", "quick takes 2.0× as much".into()));
        let level = of(20.5, Unit::Nanoseconds);
        assert_eq!(level, ("", "us is level with quick".into()));
        let behind = of(50.0, Unit::Nanoseconds);
        assert_eq!(behind, ("loss", "us takes 2.5× as long as quick".into()));
        let alone = [("us", true, 1.0)].into_iter();
        assert_eq!(verdict(alone, Unit::Bytes), None, "nobody to compare with");
    }
}
