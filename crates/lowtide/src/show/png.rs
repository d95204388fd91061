//! A chart as PNG, for places that take no SVG. [`super::drawing`] says what is on it, tiny-skia fills
//! pixels, and the letters are our own strokes ([`super::letters`]).

use anyhow::{Context, Result};
use lowtide_core::report::Report;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::drawing::{self, Anchor, HEIGHT, Ink, Shape, Spot, WIDTH};
use super::letters::{BASE, UNITS, letter, width};

/// Pixels to one unit of the drawing: sharp on screens of twice the density.
const SCALE: f64 = 2.0;
/// How thick a letter's strokes are, of its size.
const THIN: f32 = 0.092;
const BOLD: f32 = 0.128;

pub(crate) fn render(report: &Report) -> Result<Vec<u8>> {
    let size = |units: f64| (units * SCALE) as u32;
    let mut paper =
        Pixmap::new(size(WIDTH), size(HEIGHT)).context("a picture of no size cannot be drawn")?;
    paper.fill(tiny_skia::Color::WHITE);
    for shape in drawing::chart(report) {
        draw(&mut paper, &shape);
    }
    paper.encode_png().context("cannot write the picture")
}

fn draw(paper: &mut Pixmap, shape: &Shape) {
    match shape {
        Shape::Area {
            spots,
            ink,
            opacity,
            edge,
        } => {
            let Some(path) = path_of(spots, true) else {
                return;
            };
            let fill = paint(*ink, *opacity);
            paper.fill_path(&path, &fill, FillRule::Winding, place(), None);
            if let Some(edge) = edge {
                stroke(paper, &path, *ink, pen(*edge as f32));
            }
        }
        Shape::Line {
            spots,
            ink,
            width,
            dash,
        } => {
            let Some(path) = path_of(spots, false) else {
                return;
            };
            let dash = dash.map(|dash| dash.map(|part| part as f32).to_vec());
            let pen = Stroke {
                dash: dash.and_then(|dash| StrokeDash::new(dash, 0.0)),
                line_cap: LineCap::Butt,
                ..pen(*width as f32)
            };
            stroke(paper, &path, *ink, pen);
        }
        Shape::Text {
            at,
            size,
            bold,
            anchor,
            ink,
            text,
        } => {
            let size = *size as f32;
            let shift = width(text)
                * size
                * match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5,
                    Anchor::End => 1.0,
                };
            let thick = size * if *bold { BOLD } else { THIN };
            let start = (at.0 as f32 - shift, at.1 as f32);
            if let Some(path) = written(text, start, size) {
                stroke(paper, &path, *ink, pen(thick));
            }
        }
    }
}

/// A text's strokes; a dot is a stroke of nearly no length, which a round pen makes a dot.
fn written(text: &str, (mut x, y): (f32, f32), size: f32) -> Option<Path> {
    let unit = size / UNITS;
    let mut path = PathBuilder::new();
    for c in text.chars() {
        let letter = letter(c);
        for strokes in &letter.strokes {
            let spot = |(a, b): (f32, f32)| (x + a * unit, y - (b - BASE) * unit);
            let (first_x, first_y) = spot(strokes[0]);
            path.move_to(first_x, first_y);
            if strokes.len() == 1 {
                path.line_to(first_x + 0.01, first_y);
            }
            for next in &strokes[1..] {
                let (next_x, next_y) = spot(*next);
                path.line_to(next_x, next_y);
            }
        }
        x += letter.advance * unit;
    }
    path.finish()
}

fn path_of(spots: &[Spot], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (nth, (x, y)) in spots.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if nth == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn pen(width: f32) -> Stroke {
    Stroke {
        width,
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        ..Stroke::default()
    }
}

fn stroke(paper: &mut Pixmap, path: &Path, ink: Ink, pen: Stroke) {
    paper.stroke_path(path, &paint(ink, 1.0), &pen, place(), None);
}

fn place() -> Transform {
    Transform::from_scale(SCALE as f32, SCALE as f32)
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(ink.0, ink.1, ink.2, (opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}
