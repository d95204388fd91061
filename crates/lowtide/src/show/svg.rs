//! A chart as SVG, to paste into an issue or a README. [`super::drawing`] says what is on it.

use std::fmt::{self, Write};

use lowtide_core::report::Report;
use lowtide_core::text::shown;

use super::drawing::{self, Anchor, HEIGHT, Ink, Shape, Spot, WIDTH};

pub(crate) fn render(report: &Report) -> String {
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>{}</title>
<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#fff" stroke="#dde2e0"/>
"##,
        escaped(&report.headline)
    );
    for shape in drawing::chart(report) {
        write_shape(&mut out, &shape).expect("a string takes all that is written");
    }
    out.push_str("</svg>\n");
    out
}

fn write_shape(out: &mut String, shape: &Shape) -> fmt::Result {
    match shape {
        Shape::Area {
            spots,
            ink,
            opacity,
            edge,
        } => {
            let spots = spots_of(spots);
            write!(
                out,
                r##"<polygon points="{spots}" fill="{ink}" fill-opacity="{opacity}""##
            )?;
            if let Some(edge) = edge {
                write!(out, r##" stroke="{ink}" stroke-width="{edge}""##)?;
            }
            writeln!(out, "/>")
        }
        Shape::Line {
            spots,
            ink,
            width,
            dash,
        } => {
            let spots = spots_of(spots);
            write!(
                out,
                r##"<polyline points="{spots}" fill="none" stroke="{ink}" stroke-width="{width}" stroke-linejoin="round""##
            )?;
            if let Some([drawn, left_out]) = dash {
                write!(out, r##" stroke-dasharray="{drawn} {left_out}""##)?;
            }
            writeln!(out, "/>")
        }
        Shape::Text {
            at: (x, y),
            size,
            bold,
            anchor,
            ink,
            text,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if *bold { 600 } else { 400 };
            writeln!(
                out,
                r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{ink}" font-size="{size}" font-weight="{weight}">{}</text>"##,
                escaped(text)
            )
        }
    }
}

impl fmt::Display for Ink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

fn spots_of(spots: &[Spot]) -> String {
    let spots: Vec<String> = spots
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    spots.join(" ")
}

fn escaped(text: &str) -> String {
    shown(text)
        .chars()
        .map(|c| match c {
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '&' => "&amp;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
