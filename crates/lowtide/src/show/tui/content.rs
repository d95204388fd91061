//! What a frame shows, taken from the picture once for each change: the report, the rows of the process
//! list, and just the lines that are drawn.

use lowtide_core::explain::Explanation;
use lowtide_core::meter::{Meter, Unit};
use lowtide_core::report::{Line, LineName, Picture, Report};
use lowtide_core::units::Micros;

use super::processes::{self, Row};
use super::view::View;

/// Columns of the chart's line: more than the dots of any terminal.
const COLUMNS: usize = 1024;
/// Columns of the small line beside a process.
const SPARK: usize = 64;

/// Something lowtide would have said on stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub at: Micros,
    pub text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// Its `lines` hold what is drawn and nothing else.
    pub report: Report,
    pub rows: Vec<Row>,
    /// The line in the chart.
    pub shown: LineName,
    /// The meters that this line's owner has, in the order of core's table.
    pub meters: Vec<Meter>,
    pub said: Vec<Said>,
}

impl Content {
    /// `explanation` may be older than the picture: it costs more than a verdict.
    pub(crate) fn of(
        picture: &Picture,
        view: &View,
        said: &[Said],
        explanation: Option<Explanation>,
    ) -> Content {
        let mut report = picture.report_without_lines();
        report.explanation = explanation;
        let names = picture.line_names();
        let shown = shown(&report, view, &names);
        let all = (0.0, f64::INFINITY);
        let rows = processes::rows(&report, &shown.who);
        let mut lines: Vec<Line> = Vec::new();
        lines.extend(picture.line(&shown, all.0, all.1, COLUMNS));
        let small = rows.iter().filter_map(|row| {
            let name = LineName {
                who: row.who.clone(),
                meter: row.meter,
            };
            picture.line(&name, all.0, all.1, SPARK)
        });
        let whole = whole(shown.meter);
        if shown != whole {
            lines.extend(picture.line(&whole, all.0, all.1, COLUMNS));
        }
        let known: Vec<Line> = small.filter(|line| !is_in(&lines, line)).collect();
        lines.extend(known);
        report.lines = lines;
        let own = names.into_iter().filter(|name| name.who == shown.who);
        let mut meters: Vec<Meter> = own.map(|name| name.meter).collect();
        meters.sort_unstable();
        Content {
            report,
            rows,
            shown,
            meters,
            said: said.to_vec(),
        }
    }

    pub(crate) fn line(&self, name: &LineName) -> Option<&Line> {
        let mut lines = self.report.lines.iter();
        lines.find(|line| line.who == name.who && line.meter == name.meter)
    }

    /// The sum that the shown line is a part of.
    pub(crate) fn whole(&self) -> Option<&Line> {
        let whole = whole(self.shown.meter);
        // Bytes are a part of bytes; what is counted otherwise is not.
        let part = whole != self.shown && self.shown.meter.info().unit == Unit::Bytes;
        part.then(|| self.line(&whole)).flatten()
    }

    pub(crate) fn row(&self, who: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.who == who)
    }
}

fn is_in(lines: &[Line], line: &Line) -> bool {
    lines
        .iter()
        .any(|there| there.who == line.who && there.meter == line.meter)
}

fn whole(meter: Meter) -> LineName {
    LineName {
        who: "tree".to_owned(),
        meter: if meter == Meter::Gpu {
            Meter::Gpu
        } else {
            Meter::Held
        },
    }
}

/// What was chosen, if it is there; else what decides.
fn shown(report: &Report, view: &View, names: &[LineName]) -> LineName {
    let Some(who) = &view.who else {
        return report.decides.clone();
    };
    let mut own = names.iter().filter(|name| name.who == *who);
    let wanted = view.meter.unwrap_or(report.decides.meter);
    let found = own
        .clone()
        .find(|name| name.meter == wanted)
        .or_else(|| own.next());
    found.unwrap_or(&report.decides).clone()
}
