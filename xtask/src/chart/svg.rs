//! A document of lines, circles and text.

use std::fmt::{Display, Write};

/// With a ground of its own: what shows it may be dark where the reader's choice is light.
///
/// Colours stand here twice and not as custom properties, which not every program knows that shows
/// a picture.
pub(crate) const STYLE: &str = "
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
text.title{font-size:15px;font-weight:600}text.mute{font-size:12px}text.b{font-weight:700}
.paper{fill:#fff}.grid{stroke-width:1}.lead{stroke-width:.7;fill:none}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round}.line.b{stroke-width:3.2}.hollow{fill:none;stroke-width:2}
text{fill:#1f2328}text.mute{fill:#656d76}text.loss{fill:#cf222e}.grid{stroke:#d8dee4}.lead{stroke:#656d76}.s-us{stroke:#0b57d0}.f-us,text.f-us{fill:#0b57d0}.s-us2{stroke:#5a8ff0}.f-us2,text.f-us2{fill:#5a8ff0}.s-p1{stroke:#bc4c00}.f-p1,text.f-p1{fill:#bc4c00}.s-p2{stroke:#1a7f37}.f-p2,text.f-p2{fill:#1a7f37}.s-p3{stroke:#8250df}.f-p3,text.f-p3{fill:#8250df}.s-p4{stroke:#bf3989}.f-p4,text.f-p4{fill:#bf3989}.s-p5{stroke:#6e7781}.f-p5,text.f-p5{fill:#6e7781}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}text.mute{fill:#9198a1}text.loss{fill:#ff7b72}.grid{stroke:#30363d}.lead{stroke:#9198a1}.s-us{stroke:#79b8ff}.f-us,text.f-us{fill:#79b8ff}.s-us2{stroke:#4c8df5}.f-us2,text.f-us2{fill:#4c8df5}.s-p1{stroke:#ffa657}.f-p1,text.f-p1{fill:#ffa657}.s-p2{stroke:#56d364}.f-p2,text.f-p2{fill:#56d364}.s-p3{stroke:#d2a8ff}.f-p3,text.f-p3{fill:#d2a8ff}.s-p4{stroke:#ff7eb6}.f-p4,text.f-p4{fill:#ff7eb6}.s-p5{stroke:#a0a8b0}.f-p5,text.f-p5{fill:#a0a8b0}}
";

#[derive(Debug)]
pub(crate) struct Svg {
    text: String,
}

/// Where a text stands, seen from its point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let title = escape(title);
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
                 width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\
                 <style>{STYLE}</style>\n\
                 <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n"
            ),
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.text += "</svg>\n";
        self.text
    }

    fn push(&mut self, element: impl Display) {
        writeln!(self.text, "{element}").expect("a string takes everything");
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>"
        ));
    }

    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let steps: Vec<_> = points
            .iter()
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        let steps = steps.join("L");
        self.push(format_args!("<path class=\"{class}\" d=\"M{steps}\"/>"));
    }

    /// With what is told when the pointer rests on it.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, told: &str) {
        let told = escape(told);
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\">\
             <title>{told}</title></circle>"
        ));
    }

    pub(crate) fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(format_args!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }
}

/// As text of XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
