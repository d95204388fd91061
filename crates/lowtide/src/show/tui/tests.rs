//! Every state at three sizes, as pictures in `snapshots/`. `LOWTIDE_BLESS=1 cargo test -p lowtide tui`
//! writes them anew; the difference is reviewed like code.

use std::path::Path;

use lowtide_core::entry::{Entry, EventKind, Exit, Header};
use lowtide_core::look::{Breakdown, By, Cost, Examiner, Layout, Look, LookWhy, MemoryClass, Part};
use lowtide_core::mark::{Geometry, Mark, Phase};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::report::{Detail, Picture};
use lowtide_core::sample::{Limit, LimitFrom, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::{Class, Fits, Verdict};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::content::Said;
use super::keys::Key;
use super::output::Output;
use super::{Content, View, draw};
use crate::show::style::Style;

const MB: f64 = 1e6;
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 10)];

fn id(pid: u32) -> ProcId {
    ProcId { pid, start: 7 }
}

fn second(second: u64) -> Micros {
    Micros(second * 1_000_000)
}

fn member(pid: u32, parent: Option<u32>, role: Role, command: &str) -> Entry {
    Entry::Member(Member {
        id: id(pid),
        parent: parent.map(id),
        facts: Facts {
            argv: command.split(' ').map(str::to_owned).collect(),
            ..Facts::default()
        },
        role,
        why: "a test says so".to_owned(),
    })
}

fn reading(pid: u32, anon: f64) -> Reading {
    Reading {
        anon: Bytes(anon as u64),
        file: Bytes(120_000_000),
        vsize: Bytes(1 << 33),
        peak: Bytes(anon as u64),
        threads: 4,
        ..Reading::of(id(pid))
    }
}

/// A job of a launcher, a trainer and five loader workers that has just begun.
fn begun() -> Picture {
    let mut picture = Picture::new(Detail::SMALL);
    picture.apply(&Entry::Header(Header {
        name: "night1".to_owned(),
        command: ["torchrun", "train.py", "--epochs", "3"]
            .map(str::to_owned)
            .to_vec(),
        ..Header::default()
    }));
    let trainer = "/opt/venv/bin/python -u train.py --epochs 3";
    picture.apply(&member(100, None, Role::Launcher, "torchrun train.py"));
    picture.apply(&member(101, Some(100), Role::Trainer, trainer));
    for worker in 110..115 {
        picture.apply(&member(worker, Some(101), Role::LoaderWorker, trainer));
    }
    picture.apply(&Entry::Watch {
        at: Micros(0),
        id: id(101),
        why: "libtorch is mapped, and it holds most".to_owned(),
    });
    picture
}

/// So many seconds of it: what the trainer holds in each, against a limit.
pub(super) fn watched(
    seconds: u64,
    steps: bool,
    limit: f64,
    trainer: impl Fn(u64) -> f64,
) -> Picture {
    let mut picture = begun();
    for now in 0..seconds {
        if steps && now >= 5 {
            picture.apply(&Entry::Mark(mark(now)));
        }
        let held = trainer(now) + (now * 7919 % 13) as f64 * 0.2 * MB;
        let workers = (110..115).map(|worker| reading(worker, 80.0 * MB));
        let mut readings = vec![reading(100, 12.0 * MB), reading(101, held)];
        readings.extend(workers);
        let tree = held + 412.0 * MB;
        picture.apply(&Entry::Sample(Sample {
            seq: now,
            at: second(now),
            readings,
            tree: TreeSum {
                held: Bytes(tree as u64),
                ..TreeSum::default()
            },
            limit: Some(Limit {
                bytes: Bytes(limit as u64),
                from: LimitFrom::Cgroup("/slurm/job_17".to_owned()),
                used: Bytes((tree + 200.0 * MB) as u64),
            }),
            ..Sample::default()
        }));
    }
    picture
}

/// A step a second, an epoch of a hundred, an evaluation and a save at its end.
fn mark(now: u64) -> Mark {
    Mark {
        at: second(now),
        step: Some(now - 4),
        total_steps: Some(900),
        epoch: Some((now - 4) as f64 / 100.0),
        geometry: Some(Geometry {
            examples: Some(800),
            batch: Some(8),
            ..Geometry::default()
        }),
        phase: Some(match (now - 4) % 100 {
            92..=95 => Phase::Eval,
            96..=97 => Phase::Save,
            _ => Phase::Train,
        }),
        ..Mark::default()
    }
}

fn event(picture: &mut Picture, at: u64, kind: EventKind, text: &str) {
    picture.apply(&Entry::Event {
        at: second(at),
        kind,
        text: text.to_owned(),
    });
}

fn look(at: u64, live: u64, free: u64) -> Entry {
    let part = |class, megabytes| Part::of_class(class, Bytes(megabytes * 1_000_000), Vec::new());
    let parts = vec![
        part(MemoryClass::PythonLive, live),
        part(MemoryClass::GlibcMapped, 500),
        part(MemoryClass::GlibcFree, free),
    ];
    Entry::Look(Look {
        held: Some(Bytes((live + free + 500) * 1_000_000)),
        cost: Cost {
            wall: Micros(900),
            cpu: Micros(800),
        },
        breakdowns: vec![Breakdown::new(By::Mapping, parts)],
        layout: Some(Layout::default()),
        ..Look::new(second(at), id(101), LookWhy::Due, Examiner::Mappings)
    })
}

fn leak() -> Picture {
    let mut picture = watched(600, true, 4000.0 * MB, |now| {
        900.0 * MB + now as f64 * 2.0 * MB
    });
    picture.apply(&look(60, 200, 20));
    picture.apply(&look(590, 1_240, 36));
    event(
        &mut picture,
        180,
        EventKind::Verdict,
        "leak in trainer 101: 2.00 MB per step (1.98 MB to 2.02 MB)",
    );
    event(
        &mut picture,
        180,
        EventKind::Leak,
        "leak in trainer 101: 2.00 MB per step (1.98 MB to 2.02 MB)",
    );
    picture
}

fn stable() -> Picture {
    watched(400, true, 8000.0 * MB, |_| 900.0 * MB)
}

/// The picture as text, a row a line.
fn text(buf: &Buffer) -> String {
    let width = usize::from(buf.area.width);
    let rows = buf.content().chunks(width).map(|row| {
        let row: String = row.iter().map(|cell| cell.symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.map(|row| row + "\n").collect()
}

struct Shot<'a> {
    view: View,
    said: &'a [&'a str],
    job: Option<&'a str>,
    style: Style,
    explained: bool,
}

impl Default for Shot<'_> {
    fn default() -> Self {
        Shot {
            view: View::default(),
            said: &[],
            job: None,
            style: Style::PLAIN,
            explained: false,
        }
    }
}

impl Shot<'_> {
    fn taken(&self, picture: &Picture, (width, height): (u16, u16)) -> Buffer {
        self.taken_as(picture, (width, height), |_| ())
    }

    /// With what the verdict says put in by hand: what is judged so is tested in core.
    fn taken_as(
        &self,
        picture: &Picture,
        (width, height): (u16, u16),
        say: impl Fn(&mut Verdict),
    ) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let said: Vec<Said> = self
            .said
            .iter()
            .map(|text| Said {
                at: picture.run.last_at(),
                text: (*text).to_owned(),
            })
            .collect();
        let explanation = self.explained.then(|| picture.run.explained().2);
        let mut content = Content::of(picture, &self.view, &said, explanation);
        say(&mut content.report.verdict);
        let mut job = self.job.map(|_| {
            let (rows, columns) = super::job_size(area);
            Output::new(rows, columns)
        });
        if let (Some(output), Some(bytes)) = (&mut job, self.job) {
            output.feed(bytes.as_bytes());
        }
        let mut buf = Buffer::empty(area);
        let screen = job.as_ref().map(Output::screen);
        draw(&content, &self.view, screen, self.style, &mut buf);
        buf
    }

    fn matches(&self, name: &str, picture: &Picture) {
        for size in SIZES {
            let shown = text(&self.taken(picture, size));
            let file = format!("{name}-{}x{}.txt", size.0, size.1);
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("src/show/tui/snapshots")
                .join(&file);
            if std::env::var_os("LOWTIDE_BLESS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &shown).unwrap();
            }
            let expected = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(shown == expected, "{file} was\n{expected}\nand is\n{shown}");
        }
    }
}

fn class(picture: &Picture) -> Class {
    picture.run.verdict().verdict
}

#[test]
fn nothing_was_seen_yet() {
    Shot::default().matches("no-sample", &begun());
    Shot::default().matches("empty", &Picture::new(Detail::SMALL));
}

#[test]
fn too_early() {
    let picture = watched(40, true, 8000.0 * MB, |now| {
        900.0 * MB + now as f64 * 20.0 * MB
    });
    assert_eq!(class(&picture), Class::TooEarly);
    Shot::default().matches("too-early", &picture);
}

/// Growth that is not decided, in a run that needs so much of 8 GB.
fn open_growth(verdict: &mut Verdict, fits: Fits) {
    let told = crate::show::text::tests::open_growth();
    verdict.verdict = told.verdict;
    verdict.growing = true;
    verdict.rate = told.rate;
    verdict.outlook = told.outlook;
    let outlook = verdict.outlook.as_mut().unwrap();
    outlook.fits = Some(fits);
    outlook.says = format!("needs 2.10 to 9.40 GB of 8.00 GB until step 900: {fits}");
}

#[test]
fn growth_shows_whether_the_run_fits() {
    let picture = stable();
    let shot = Shot::default();
    for size in SIZES {
        let shown = shot.taken_as(&picture, size, |v| open_growth(v, Fits::Tight));
        let shown = text(&shown);
        assert!(shown.contains(" GROWING by 165 MB/step"), "{shown}");
        // The smallest has no row for the headroom. Elsewhere the answer is in sight, though in 80
        // columns there is no room for all of the sentence.
        if size.1 < 14 {
            continue;
        }
        let row = shown.lines().find(|row| row.starts_with(" headroom"));
        assert!(
            row.is_some_and(|row| row.contains("may not fit")),
            "{shown}"
        );
    }
}

#[test]
fn what_does_not_fit_is_bad_and_what_may_not_warns() {
    let shot = Shot {
        style: Style {
            colour: true,
            ..Style::PLAIN
        },
        ..Shot::default()
    };
    let look = |fits| {
        let shown = shot.taken_as(&stable(), SIZES[1], |v| open_growth(v, fits));
        let width = usize::from(shown.area.width);
        let rows: Vec<_> = shown.content().chunks(width).collect();
        let is_room = |row: &&&[ratatui::buffer::Cell]| row[1].symbol() == "h";
        let row = rows.iter().find(is_room).unwrap();
        let end = row.iter().rfind(|cell| cell.symbol() != " ").unwrap();
        (end.fg, end.modifier)
    };
    use ratatui::style::{Color, Modifier};
    assert_eq!(look(Fits::No), (Color::Yellow, Modifier::BOLD));
    assert_eq!(look(Fits::Tight), (Color::Yellow, Modifier::empty()));
    assert_eq!(look(Fits::Yes), (Color::Reset, Modifier::empty()));
}

#[test]
fn a_leak_with_its_forecast() {
    let picture = leak();
    assert_eq!(class(&picture), Class::Leak);
    Shot::default().matches("leak", &picture);
}

#[test]
fn a_leak_that_is_explained() {
    let shot = Shot {
        explained: true,
        ..Shot::default()
    };
    shot.matches("explained", &leak());
}

#[test]
fn a_warm_up_that_settled() {
    let picture = watched(500, true, 8000.0 * MB, |now| {
        900.0 * MB + now.min(105) as f64 * 12.0 * MB
    });
    assert_eq!(class(&picture), Class::WarmUp);
    Shot::default().matches("warm-up", &picture);
}

#[test]
fn spikes() {
    let picture = watched(600, true, 8000.0 * MB, |now| {
        900.0 * MB + if now % 60 < 4 { 700.0 * MB } else { 0.0 }
    });
    assert_eq!(class(&picture), Class::Spikes);
    Shot::default().matches("spikes", &picture);
}

#[test]
fn flat() {
    let picture = stable();
    assert_eq!(class(&picture), Class::Stable);
    Shot::default().matches("stable", &picture);
}

#[test]
fn no_steps_are_known() {
    let picture = watched(400, false, 8000.0 * MB, |_| 900.0 * MB);
    Shot::default().matches("no-steps", &picture);
}

#[test]
fn the_job_is_stopped_and_goes_on() {
    let mut picture = stable();
    event(
        &mut picture,
        398,
        EventKind::JobStopped,
        "the job was stopped",
    );
    Shot::default().matches("stopped", &picture);
    event(
        &mut picture,
        399,
        EventKind::JobContinued,
        "the job goes on",
    );
    let shown = text(&Shot::default().taken(&picture, SIZES[0]));
    assert!(!shown.contains("STOPPED"), "{shown}");
}

#[test]
fn the_job_ended() {
    let mut picture = stable();
    let exit = Some(Exit::Signal(9));
    picture.apply(&Entry::End {
        at: second(400),
        exit,
    });
    Shot::default().matches("ended", &picture);
}

#[test]
fn the_limit_is_near() {
    let mut picture = watched(400, true, 1600.0 * MB, |_| 900.0 * MB);
    let text = "limit near: 1.51 GB of 1.60 GB in use (cgroup /slurm/job_17)";
    event(&mut picture, 12, EventKind::LimitNear, text);
    Shot::default().matches("limit-near", &picture);
}

#[test]
fn the_recording_is_broken() {
    let shot = Shot {
        said: &[
            "cannot write /runs/night1/log: No space left on device; the job is not touched, and writing is tried again",
        ],
        ..Shot::default()
    };
    shot.matches("recording-broken", &stable());
}

#[test]
fn the_jobs_output_has_a_pane() {
    let mut job = String::from("loading weights\r\n\x1b[33mwarning: slow tokenizer\x1b[0m\r\n");
    for step in 1..=120 {
        job += &format!(
            "\r{:>3}%|{:<10}| {step}/300 [00:{:02}]",
            step / 3,
            "█".repeat(step / 30),
            step % 60
        );
    }
    let shot = Shot {
        job: Some(&job),
        ..Shot::default()
    };
    shot.matches("job-output", &leak());
}

#[test]
fn help_lies_over_it() {
    let shot = Shot {
        view: View {
            help: true,
            ..View::default()
        },
        ..Shot::default()
    };
    shot.matches("help", &leak());
}

#[test]
fn plain_characters_suffice() {
    let style = Style {
        unicode: false,
        ..Style::PLAIN
    };
    let shot = Shot {
        style,
        ..Shot::default()
    };
    shot.matches("ascii", &leak());
    for size in SIZES {
        let shown = text(&shot.taken(&leak(), size)).replace('…', "");
        assert!(shown.is_ascii(), "{shown}");
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    use ratatui::style::Color;
    let tinted = |colour: bool| {
        let shot = Shot {
            style: Style {
                colour,
                ..Style::PLAIN
            },
            job: Some("\x1b[31mred"),
            ..Shot::default()
        };
        let shown = shot.taken(&leak(), SIZES[0]);
        let plain = |colour: Color| colour == Color::Reset;
        shown
            .content()
            .iter()
            .any(|cell| !plain(cell.fg) || !plain(cell.bg))
    };
    assert!(tinted(true) && !tinted(false));
}

#[test]
fn every_size_can_be_drawn() {
    let pictures = [Picture::new(Detail::SMALL), begun(), leak()];
    for picture in &pictures {
        for (width, height) in (1..=60)
            .step_by(7)
            .flat_map(|w| (1..=30).map(move |h| (w * 2, h)))
        {
            for help in [false, true] {
                let shot = Shot {
                    view: View {
                        help,
                        ..View::default()
                    },
                    job: (height % 2 == 0).then_some("output\r\n"),
                    ..Shot::default()
                };
                shot.taken(picture, (width, height));
            }
        }
    }
}

#[test]
fn a_hostile_name_moves_nothing() {
    let mut picture = leak();
    let name = "evil\x1b[2J\x1b]0;title\x07\u{202e}\r\n --token";
    picture.apply(&member(101, Some(100), Role::Trainer, name));
    let shown = Shot::default().taken(&picture, SIZES[1]);
    for cell in shown.content() {
        assert!(
            !cell
                .symbol()
                .contains(|c: char| c.is_control() || c == '\u{202e}')
        );
    }
}

fn press(view: &mut View, picture: &Picture, keys: &[Key]) -> Content {
    for key in keys {
        let content = Content::of(picture, view, &[], None);
        view.key(*key, &content);
    }
    Content::of(picture, view, &[], None)
}

#[test]
fn keys_choose_what_is_drawn() {
    let picture = leak();
    let mut view = View::default();
    let content = press(&mut view, &picture, &[]);
    assert_eq!(content.shown.who, "pid:101:7");
    let content = press(&mut view, &picture, &[Key::Char('m')]);
    assert_eq!(
        (
            content.shown.who.as_str(),
            content.shown.meter.to_string().as_str()
        ),
        ("pid:101:7", "anon")
    );
    let in_order = content.meters.is_sorted() && content.meters.len() > 2;
    assert!(in_order, "{:?}", content.meters);
    let content = press(&mut view, &picture, &[Key::Down]);
    assert_eq!(content.shown.who, "role:loader-worker");
    let content = press(&mut view, &picture, &[Key::Up, Key::Up, Key::Up, Key::Up]);
    assert_eq!(content.shown.who, "tree");
    let content = press(&mut view, &picture, &[Key::Escape]);
    assert_eq!(content.shown.who, "pid:101:7");
}

#[test]
fn zoom_and_axis() {
    let picture = leak();
    let shown = |keys: &[Key]| {
        let mut view = View::default();
        press(&mut view, &picture, keys);
        let shot = Shot {
            view,
            ..Shot::default()
        };
        text(&shot.taken(&picture, SIZES[0]))
    };
    let all = shown(&[]);
    assert!(all.contains("step 2 ") && all.contains("now"), "{all}");
    let timed = shown(&[Key::Char('a')]);
    assert!(
        timed.contains("0s ") && !timed.contains("step 2 "),
        "{timed}"
    );
    let late = shown(&[Key::Char('+'), Key::Char('+'), Key::Char('+')]);
    assert!(!late.contains("step 2 "), "{late}");
    let early = shown(&[Key::Char('+'), Key::Char('+'), Key::Home]);
    assert!(early.contains("step 2 "), "{early}");
    assert_eq!(shown(&[Key::Char('+'), Key::Left, Key::Char('0')]), all);
}
