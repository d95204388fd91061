//! Who gets which rows. The verdict always has some; what does not fit is left out whole.

use ratatui::layout::Rect;

use super::chart;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Panes {
    pub title: Rect,
    pub verdict: Rect,
    pub chart: Rect,
    pub headroom: Rect,
    pub processes: Rect,
    pub grows: Rect,
    pub events: Rect,
    pub job: Rect,
    pub footer: Rect,
}

/// Narrower than this has no room for two panes side by side.
const TWO: u16 = 70;
/// The pane of the job's output has a title and at least this many rows.
const OUTPUT_LEAST: u16 = 3;

pub(super) fn panes(area: Rect, job: bool) -> Panes {
    let verdict = match area.height {
        34.. => 6,
        28.. => 4,
        18.. => 3,
        _ => 2,
    };
    let headroom = u16::from(area.height >= 14);
    let rest = area.height.saturating_sub(2 + verdict + headroom);
    let mut output = 0;
    if job {
        output = (rest * 2 / 5).max(OUTPUT_LEAST + 1).min(rest);
    }
    let rest = rest - output;
    // The chart first, then the panes below it.
    let lower = match (job, rest) {
        (_, ..12) => 0,
        (false, _) => (rest * 9 / 20).min(16),
        (true, _) => (rest * 2 / 5).min(10),
    };
    let lower = if job && rest >= chart::LEAST + 4 {
        lower.max(4)
    } else {
        lower
    };
    let mut picture = rest - lower;
    let mut verdict = verdict;
    if picture < chart::LEAST {
        if job {
            output += picture;
        } else {
            verdict += picture;
        }
        picture = 0;
    }
    let mut y = area.y;
    let mut take = |height: u16| {
        let height = height.min(area.bottom().saturating_sub(y));
        let pane = Rect { y, height, ..area };
        y += height;
        pane
    };
    let title = take(1);
    let verdict = take(verdict);
    let chart = take(picture);
    let headroom = take(headroom);
    let lower = take(lower);
    let job = take(output);
    let footer = take(1);
    let (processes, grows, events) = side_by_side(lower);
    Panes {
        title,
        verdict,
        chart,
        headroom,
        processes,
        grows,
        events,
        job,
        footer,
    }
}

fn side_by_side(area: Rect) -> (Rect, Rect, Rect) {
    let nothing = Rect { height: 0, ..area };
    if area.width < TWO {
        return (area, nothing, nothing);
    }
    let left = area.width * 11 / 20;
    let processes = Rect {
        width: left - 1,
        ..area
    };
    let right = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    let grows = Rect {
        height: right.height / 2,
        ..right
    };
    let events = Rect {
        y: right.y + grows.height,
        height: right.height - grows.height,
        ..right
    };
    (processes, grows, events)
}

/// The rows and columns that the job's terminal has in a view of this size.
pub(crate) fn job_size(area: Rect) -> (u16, u16) {
    let pane = panes(area, true).job;
    (pane.height.saturating_sub(1).max(1), pane.width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_screen_and_never_overlap() {
        for width in [1, 20, 40, 80, 200] {
            for height in 1..=70 {
                for job in [false, true] {
                    let area = Rect::new(0, 0, width, height);
                    let p = panes(area, job);
                    let rows = [
                        p.title,
                        p.verdict,
                        p.chart,
                        p.headroom,
                        p.processes,
                        p.job,
                        p.footer,
                    ];
                    let sum: u16 = rows.iter().map(|pane| pane.height).sum();
                    assert!(sum == height, "{width}x{height} {job}: {p:?}");
                    for pane in [p.grows, p.events].into_iter().chain(rows) {
                        assert_eq!(pane.intersection(area), pane, "{width}x{height} {job}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_usual_terminal_has_room_for_everything() {
        for job in [false, true] {
            let p = panes(Rect::new(0, 0, 80, 24), job);
            for pane in [
                p.title,
                p.verdict,
                p.headroom,
                p.processes,
                p.grows,
                p.events,
                p.footer,
            ] {
                assert!(pane.height > 0, "{job}: {p:?}");
            }
            assert!(p.chart.height >= chart::LEAST && (!job || p.job.height > OUTPUT_LEAST));
        }
    }
}
