//! A report's chart as shapes: the line that decides with its band, the floor, the limit, the forecast,
//! and the verdict above them. [`super::svg`] and [`super::png`] put the same shapes on paper.

use lowtide_core::judge::words::place;
use lowtide_core::report::{Forecast, Line, Report};
use lowtide_core::units::show_bytes;
use lowtide_core::verdict::Axis;

pub(crate) const WIDTH: f64 = 960.0;
pub(crate) const HEIGHT: f64 = 440.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
/// Below the headline, and the words of flags.
const TOP: f64 = 96.0;
const BOTTOM: f64 = 48.0;
/// As the page and the terminal have it.
const LIMIT_IN_SIGHT: f64 = 1.6;
/// Letters of the headline in one line.
const LINE: usize = 104;
/// Its lines at most: growth with its outlook takes three.
const LINES: usize = 3;

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink(pub u8, pub u8, pub u8);

const TEXT: Ink = Ink(0x1c, 0x23, 0x26);
const QUIET: Ink = Ink(0x56, 0x61, 0x66);
const RULE: Ink = Ink(0xe8, 0xec, 0xea);
const AXIS: Ink = Ink(0x9a, 0xa5, 0xa6);
const BAND: Ink = Ink(0x5f, 0xa8, 0xd3);
const FLOOR: Ink = Ink(0x00, 0x72, 0xb2);
const FORECAST: Ink = Ink(0x7a, 0x51, 0x95);
const LIMIT: Ink = Ink(0xb8, 0x47, 0x0a);

/// A place on paper, from the top left.
pub(crate) type Spot = (f64, f64);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A filled polygon, perhaps with an edge of so much.
    Area {
        spots: Vec<Spot>,
        ink: Ink,
        opacity: f64,
        edge: Option<f64>,
    },
    Line {
        spots: Vec<Spot>,
        ink: Ink,
        width: f64,
        /// So much drawn, so much left out.
        dash: Option<[f64; 2]>,
    },
    Text {
        at: Spot,
        size: f64,
        bold: bool,
        anchor: Anchor,
        ink: Ink,
        text: String,
    },
}

/// Which part of a text stands at its spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A frame that puts places of the axis and bytes on paper.
struct Frame {
    from: f64,
    to: f64,
    top: f64,
}

impl Frame {
    fn x(&self, x: f64) -> f64 {
        LEFT + (x - self.from) / (self.to - self.from).max(f64::MIN_POSITIVE)
            * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, bytes: f64) -> f64 {
        TOP + (1.0 - bytes / self.top) * (HEIGHT - TOP - BOTTOM)
    }

    fn at(&self, x: f64, bytes: f64) -> Spot {
        (self.x(x), self.y(bytes))
    }
}

/// The shapes of a report's chart, the first one lowest.
pub(crate) fn chart(report: &Report) -> Vec<Shape> {
    let axis = report.verdict.axis;
    let line = report
        .lines
        .iter()
        .find(|line| line.who == report.decides.who && line.meter == report.decides.meter);
    let (xs, line) = match line {
        Some(line) => (places(report, line, axis), Some(line)),
        None => (Vec::new(), None),
    };
    let shown: Vec<usize> = (0..xs.len()).filter(|i| xs[*i].is_finite()).collect();
    let (from, last) = match (shown.first(), shown.last()) {
        (Some(first), Some(last)) => (xs[*first], xs[*last]),
        _ => (0.0, 1.0),
    };
    let forecast = report.forecast.filter(|forecast| forecast.axis == axis);
    let highest = line.map_or(1.0, |line| {
        shown.iter().map(|i| line.high[*i]).max().unwrap_or(1) as f64
    });
    let limit = report
        .room
        .as_ref()
        .filter(|room| room.until <= highest * LIMIT_IN_SIGHT);
    let ahead = forecast.map_or(highest, |f| {
        (f.bytes + f.value * (f.to - f.from)).min(highest * LIMIT_IN_SIGHT)
    });
    let frame = Frame {
        from,
        to: forecast.map_or(last, |forecast| forecast.to.max(last)),
        top: limit
            .map_or(highest, |room| room.until)
            .max(highest)
            .max(ahead)
            * 1.06,
    };
    let mut shapes = headline(&report.headline);
    grid(&mut shapes, &frame, axis);
    if let Some(line) = line {
        band(&mut shapes, &frame, &xs, &shown, line);
    }
    if report.floor.len() > 1 {
        let spots = report.floor.iter().map(|[x, y]| frame.at(*x, *y));
        shapes.push(solid(spots.collect(), FLOOR, 2.5));
    }
    if let Some(forecast) = &forecast {
        cone(&mut shapes, &frame, forecast);
    }
    if let Some(room) = limit {
        let y = frame.y(room.until);
        let across = vec![(LEFT, y), (WIDTH - RIGHT, y)];
        shapes.push(dashed(across, LIMIT, 1.5, [10.0, 5.0]));
        let says = format!("limit {}", show_bytes(room.limit));
        shapes.push(text((LEFT + 8.0, y - 6.0), Anchor::Start, LIMIT, says));
    }
    flags(&mut shapes, &frame, report);
    shapes
}

/// Where growth would lead, as a range.
fn cone(shapes: &mut Vec<Shape>, frame: &Frame, f: &Forecast) {
    let end = |slope: f64| {
        let bytes = f.bytes + slope * (f.to - f.from);
        frame.at(f.to, bytes.clamp(0.0, frame.top))
    };
    let start = frame.at(f.from, f.bytes);
    shapes.push(Shape::Area {
        spots: vec![start, end(f.high), end(f.low)],
        ink: FORECAST,
        opacity: 0.18,
        edge: None,
    });
    shapes.push(dashed(vec![start, end(f.value)], FORECAST, 1.5, [6.0, 4.0]));
}

/// What the verdict says of places on the axis.
fn flags(shapes: &mut Vec<Shape>, frame: &Frame, report: &Report) {
    let verdict = &report.verdict;
    let flags = [
        (verdict.settled_at, "settled"),
        (verdict.decides_at, "decidable"),
        (verdict.oom.map(|oom| oom.at), "out of memory"),
    ];
    for (x, word) in flags {
        let Some(x) = x.filter(|x| (frame.from..=frame.to).contains(x)) else {
            continue;
        };
        let at = frame.x(x);
        let down = vec![(at, TOP), (at, HEIGHT - BOTTOM)];
        shapes.push(dashed(down, TEXT, 1.0, [3.0, 3.0]));
        let says = format!("{word} at {}", place(verdict.axis, x));
        shapes.push(text((at, TOP - 6.0), Anchor::Middle, TEXT, says));
    }
}

/// Where the columns of a line lie on the verdict's axis; what lies before the first step is nowhere.
fn places(report: &Report, line: &Line, axis: Axis) -> Vec<f64> {
    if axis == report.axis {
        return line.x.clone();
    }
    line.x
        .iter()
        .map(|x| report.step_at(*x).unwrap_or(f64::NAN))
        .collect()
}

/// The verdict in words.
fn headline(headline: &str) -> Vec<Shape> {
    let mut lines = vec![String::new()];
    for word in headline.split(' ') {
        if lines[lines.len() - 1].chars().count() + word.chars().count() > LINE
            && lines.len() < LINES
        {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("there is one");
        line.push_str(word);
        line.push(' ');
    }
    let shape = |(nth, line): (usize, &String)| Shape::Text {
        at: (20.0, 28.0 + 20.0 * nth as f64),
        size: 15.0,
        bold: true,
        anchor: Anchor::Start,
        ink: TEXT,
        text: line.trim_end().to_owned(),
    };
    lines.iter().enumerate().map(shape).collect()
}

fn grid(shapes: &mut Vec<Shape>, frame: &Frame, axis: Axis) {
    let bottom = HEIGHT - BOTTOM;
    let across = |y: f64| vec![(LEFT, y), (WIDTH - RIGHT, y)];
    for y in round_places(0.0, frame.top, 5) {
        let at = frame.y(y);
        shapes.push(solid(across(at), RULE, 1.0));
        let says = show_bytes(y).to_string();
        shapes.push(text((LEFT - 8.0, at + 4.0), Anchor::End, QUIET, says));
    }
    for x in round_places(frame.from, frame.to, 7) {
        let says = place(axis, x);
        shapes.push(text(
            (frame.x(x), bottom + 20.0),
            Anchor::Middle,
            QUIET,
            says,
        ));
    }
    shapes.push(solid(across(bottom), AXIS, 1.0));
}

fn band(shapes: &mut Vec<Shape>, frame: &Frame, xs: &[f64], shown: &[usize], line: &Line) {
    let upper = shown.iter().map(|i| frame.at(xs[*i], line.high[*i] as f64));
    let lower: Vec<Spot> = shown
        .iter()
        .map(|i| frame.at(xs[*i], line.low[*i] as f64))
        .collect();
    shapes.push(Shape::Area {
        spots: upper.chain(lower.iter().rev().copied()).collect(),
        ink: BAND,
        opacity: 0.35,
        edge: Some(0.75),
    });
    shapes.push(solid(lower, BAND, 1.5));
}

fn solid(spots: Vec<Spot>, ink: Ink, width: f64) -> Shape {
    Shape::Line {
        spots,
        ink,
        width,
        dash: None,
    }
}

fn dashed(spots: Vec<Spot>, ink: Ink, width: f64, dash: [f64; 2]) -> Shape {
    Shape::Line {
        spots,
        ink,
        width,
        dash: Some(dash),
    }
}

fn text(at: Spot, anchor: Anchor, ink: Ink, text: String) -> Shape {
    Shape::Text {
        at,
        size: 13.0,
        bold: false,
        anchor,
        ink,
        text,
    }
}

/// Round numbers between two ends, at most about so many.
fn round_places(from: f64, to: f64, many: usize) -> Vec<f64> {
    let raw = (to - from) / many as f64;
    if !(raw > 0.0 && raw.is_finite()) {
        return Vec::new();
    }
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|n| n * power)
        .into_iter()
        .find(|step| *step >= raw)
        .unwrap_or(raw);
    let first = (from / step).ceil() as i64;
    (first..)
        .map(|n| n as f64 * step)
        .take_while(|x| *x <= to)
        .take(100)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_with_its_outlook_has_room_above_the_flags() {
        let long = "GROWING by 165 MB/step (160 to 170 MB/step), not decided: decidable at step 104, \
                    out of memory at step 190 of 240 (step 180 to step 210), in 2h 10m; this run needs \
                    17.9 to 41.0 GB of 32.0 GB until step 240: may not fit";
        let shapes = headline(long);
        assert_eq!(shapes.len(), LINES);
        for shape in shapes {
            let Shape::Text { at, text, .. } = shape else {
                panic!("{shape:?}");
            };
            assert!(text.chars().count() <= LINE, "{text}");
            // The words of flags stand 6 above the chart, and are 13 high.
            assert!(at.1 < TOP - 19.0, "{text}");
        }
    }
}
