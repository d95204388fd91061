//! A report's chart as SVG, to paste into an issue or a README: the line that decides with its band, the
//! floor, the limit, the forecast, and the verdict above them.

use std::fmt::Write;

use lowtide_core::judge::words::place;
use lowtide_core::report::{Line, Report};
use lowtide_core::units::show_bytes;
use lowtide_core::verdict::Axis;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 48.0;
/// As the page and the terminal have it.
const LIMIT_IN_SIGHT: f64 = 1.6;
/// Letters of the headline in one line.
const LINE: usize = 104;

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

    fn at(&self, x: f64, bytes: f64) -> String {
        format!("{:.1},{:.1}", self.x(x), self.y(bytes))
    }
}

pub fn render(report: &Report) -> String {
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
    let mut out = head(report);
    grid(&mut out, &frame, axis);
    if let Some(line) = line {
        band(&mut out, &frame, &xs, &shown, line);
    }
    if report.floor.len() > 1 {
        let points: Vec<String> = report.floor.iter().map(|[x, y]| frame.at(*x, *y)).collect();
        let _ = writeln!(
            out,
            r##"<polyline points="{}" fill="none" stroke="#0072b2" stroke-width="2.5" stroke-linejoin="round"/>"##,
            points.join(" ")
        );
    }
    if let Some(f) = forecast {
        let end = |slope: f64| {
            frame.at(
                f.to,
                (f.bytes + slope * (f.to - f.from)).clamp(0.0, frame.top),
            )
        };
        let start = frame.at(f.from, f.bytes);
        let _ = writeln!(
            out,
            r##"<polygon points="{start} {} {}" fill="#7a5195" fill-opacity=".18"/>"##,
            end(f.high),
            end(f.low)
        );
        let _ = writeln!(
            out,
            r##"<polyline points="{start} {}" fill="none" stroke="#7a5195" stroke-width="1.5" stroke-dasharray="6 4"/>"##,
            end(f.value)
        );
    }
    if let Some(room) = limit {
        let y = frame.y(room.until);
        let _ = writeln!(
            out,
            r##"<path d="M{LEFT} {y:.1}H{:.1}" stroke="#b8470a" stroke-width="1.5" stroke-dasharray="10 5"/>"##,
            WIDTH - RIGHT
        );
        let _ = writeln!(
            out,
            r##"<text x="{}" y="{:.1}" fill="#b8470a">limit {}</text>"##,
            LEFT + 8.0,
            y - 6.0,
            show_bytes(room.limit)
        );
    }
    let flags = [
        (report.verdict.settled_at, "settled"),
        (report.verdict.decides_at, "decidable"),
        (report.verdict.oom.map(|oom| oom.at), "out of memory"),
    ];
    for (x, word) in flags {
        if let Some(x) = x.filter(|x| (frame.from..=frame.to).contains(x)) {
            let (at, bottom) = (frame.x(x), HEIGHT - BOTTOM);
            let _ = writeln!(
                out,
                r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#1c2326" stroke-dasharray="3 3"/><text x="{at:.1}" y="{:.1}" text-anchor="middle" fill="#1c2326">{word} at {}</text>"##,
                TOP - 6.0,
                place(axis, x)
            );
        }
    }
    out.push_str("</svg>\n");
    out
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

fn head(report: &Report) -> String {
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>{}</title>
<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#fff" stroke="#dde2e0"/>
"##,
        escaped(&report.headline)
    );
    let mut lines = vec![String::new()];
    for word in report.headline.split(' ') {
        if lines[lines.len() - 1].chars().count() + word.chars().count() > LINE && lines.len() < 2 {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("there is one");
        line.push_str(word);
        line.push(' ');
    }
    for (nth, line) in lines.iter().enumerate() {
        let _ = writeln!(
            out,
            r##"<text x="20" y="{}" fill="#1c2326" font-size="15" font-weight="600">{}</text>"##,
            28 + 20 * nth,
            escaped(line.trim_end())
        );
    }
    out
}

fn grid(out: &mut String, frame: &Frame, axis: Axis) {
    let bottom = HEIGHT - BOTTOM;
    for y in round_places(0.0, frame.top, 5) {
        let at = frame.y(y);
        let _ = writeln!(
            out,
            r##"<path d="M{LEFT} {at:.1}H{:.1}" stroke="#e8ecea"/><text x="{}" y="{:.1}" text-anchor="end" fill="#566166">{}</text>"##,
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            show_bytes(y)
        );
    }
    for x in round_places(frame.from, frame.to, 7) {
        let _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{}" text-anchor="middle" fill="#566166">{}</text>"##,
            frame.x(x),
            bottom + 20.0,
            place(axis, x)
        );
    }
    let _ = writeln!(
        out,
        r##"<path d="M{LEFT} {bottom}H{:.1}" stroke="#9aa5a6"/>"##,
        WIDTH - RIGHT
    );
}

fn band(out: &mut String, frame: &Frame, xs: &[f64], shown: &[usize], line: &Line) {
    let upper = shown.iter().map(|i| frame.at(xs[*i], line.high[*i] as f64));
    let lower: Vec<String> = shown
        .iter()
        .map(|i| frame.at(xs[*i], line.low[*i] as f64))
        .collect();
    let around: Vec<String> = upper.chain(lower.iter().rev().cloned()).collect();
    let _ = writeln!(
        out,
        r##"<polygon points="{}" fill="#5fa8d3" fill-opacity=".35" stroke="#5fa8d3" stroke-width=".75"/>"##,
        around.join(" ")
    );
    let _ = writeln!(
        out,
        r##"<polyline points="{}" fill="none" stroke="#5fa8d3" stroke-width="1.5"/>"##,
        lower.join(" ")
    );
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

fn escaped(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .map(|c| match c {
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '&' => "&amp;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
