//! The reliability diagram: what was said against what was right, as a picture for the docs.

use std::fmt::Write as _;

use super::calibration::Row;

const SIZE: f64 = 360.0;
const EDGE: f64 = 50.0;
/// Less is left out: a circle of nothing would say as much as one of all.
const LEAST: f64 = 0.005;
const COLOURS: [&str; 3] = ["#b3261e", "#1f6feb", "#2e7d32"];

/// As SVG: circles by their share of the calls, filled for generated series, open for recorded processes.
pub fn svg(rows: &[Row]) -> String {
    let place = |share: f64| EDGE + SIZE * (share - 0.4) / 0.6;
    let height = |share: f64| EDGE + SIZE - SIZE * (share - 0.4) / 0.6;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n",
        w = SIZE + 220.0,
        h = SIZE + 2.0 * EDGE
    );
    for tenth in 4..=10 {
        let share = f64::from(tenth) / 10.0;
        let (x, y) = (place(share), height(share));
        let _ = writeln!(
            text,
            "<path d=\"M{x} {top}V{bottom}M{left} {y}H{right}\" stroke=\"#ddd\"/><text x=\"{x}\" y=\"{below}\" text-anchor=\"middle\">{share}</text><text x=\"{beside}\" y=\"{y}\" text-anchor=\"end\" dy=\"4\">{share}</text>",
            top = EDGE,
            bottom = EDGE + SIZE,
            left = EDGE,
            right = EDGE + SIZE,
            below = EDGE + SIZE + 16.0,
            beside = EDGE - 6.0
        );
    }
    let _ = writeln!(
        text,
        "<path d=\"M{a} {b}L{c} {d}\" stroke=\"#888\" stroke-dasharray=\"4\"/><text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">confidence said</text><text x=\"{a}\" y=\"{top}\">share that was right</text>",
        a = place(0.4),
        b = height(0.4),
        c = place(1.0),
        d = height(1.0),
        x = EDGE + SIZE / 2.0,
        y = EDGE + SIZE + 36.0,
        top = EDGE - 16.0
    );
    for (nth, row) in rows.iter().enumerate() {
        let colour = COLOURS[nth / 2 % COLOURS.len()];
        let fill = if nth % 2 == 0 { colour } else { "none" };
        let all: f64 = row.bins.iter().map(|bin| bin.weight).sum();
        for bin in row.bins.iter().filter(|bin| bin.weight >= LEAST * all) {
            let (said, right) = (bin.said / bin.weight, bin.right / bin.weight);
            let radius = 3.0 + 12.0 * (bin.weight / all).sqrt();
            let _ = writeln!(
                text,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" fill-opacity=\"0.5\" stroke=\"{colour}\"/>",
                place(said.max(0.4)),
                height(right.max(0.4))
            );
        }
        let y = EDGE + 20.0 * nth as f64;
        let _ = writeln!(
            text,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{fill}\" fill-opacity=\"0.5\" stroke=\"{colour}\"/><text x=\"{t}\" y=\"{y}\" dy=\"4\">{}</text>",
            row.name,
            x = EDGE + SIZE + 20.0,
            t = EDGE + SIZE + 32.0
        );
    }
    text + "</svg>\n"
}
