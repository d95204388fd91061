//! From named columns to a series: which column is the axis, which one the memory, in which unit.
//! Shared by CSV and JSON lines, which only cut their files into cells.

use std::rc::Rc;

use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::{Axis, Meter};

use super::choose::quoted;
use super::header::{self, Column, Memory};
use super::kept::Kept;
use super::{ImportError, Imported, Options, Who, order, size, time};

/// Which columns are read, and as what.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// None: rows are numbered.
    pub x: Option<usize>,
    /// Time beside steps.
    pub seconds: Option<usize>,
    pub value: usize,
    pub owner: Option<usize>,
    axis: Axis,
    /// Seconds per unit, where the name of the time column says it.
    scale: Option<f64>,
    seconds_scale: Option<f64>,
    memory: Memory,
    names: Rc<[String]>,
}

/// What a column has in its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Words, or what cannot be an axis and no memory.
    Nothing,
    Numbers,
    /// Numbers that stay the same from most rows to the next.
    Runs,
    /// Numbers in some rows, nothing in the others.
    SomeNumbers,
    /// Dates or clocks, ...
    Moments,
    /// ... and always the same one.
    OneMoment,
}

/// A plan for each column that is to be read: one, or all that are memory where several are asked for. `names` are
/// the headers, `holds` what stands below them.
pub(super) fn plans(
    names: Vec<String>,
    holds: &[Holds],
    options: &Options,
) -> Result<Vec<Plan>, ImportError> {
    let names: Rc<[String]> = names.into();
    let kinds: Vec<Column> = names.iter().map(|n| header::column(n)).collect();
    let find = |test: &dyn Fn(&Column) -> bool| {
        let full = |i: usize| {
            !matches!(
                holds.get(i),
                None | Some(Holds::Nothing | Holds::SomeNumbers)
            )
        };
        (0..kinds.len()).find(|&i| full(i) && test(&kinds[i]))
    };
    // Dates are times, whatever they are called.
    let time = find(&|c| matches!(c, Column::Time(_)))
        .or_else(|| holds.iter().position(|h| *h == Holds::Moments));
    // A step says more than an epoch, where a table has both, and so does a time, where an epoch has many rows.
    let epoch = find(&|c| *c == Column::Epoch);
    let epoch = epoch.filter(|&i| time.is_none() || holds[i] != Holds::Runs);
    let step = find(&|c| *c == Column::Step).or(epoch);
    let index = find(&|c| *c == Column::Index);
    let bare = time.filter(|&i| names[i].trim().eq_ignore_ascii_case("t"));
    let scale_of = |at: Option<usize>| match at.map(|i| &kinds[i]) {
        Some(Column::Time(scale)) => *scale,
        _ => None,
    };
    let listed = || super::listed(&names);
    let (axis, x) = match options.axis {
        Some(Axis::Sample) => (Axis::Sample, None),
        Some(Axis::Step) => {
            let at = step
                .or(bare)
                .or(index)
                .or(time.filter(|_| scale_of(time).is_none()));
            let at = at.ok_or_else(|| {
                ImportError::new(format!("no column counts steps (columns: {})", listed()))
                    .hint("leave --axis out, or say --axis time")
            })?;
            (Axis::Step, Some(at))
        }
        Some(Axis::Time) => {
            let at = time.or(index).ok_or_else(|| {
                ImportError::new(format!("no column holds times (columns: {})", listed()))
                    .hint("leave --axis out, or say --axis step")
            })?;
            (Axis::Time, Some(at))
        }
        None => match (step, bare, time, index) {
            (Some(at), ..) => (Axis::Step, Some(at)),
            (None, Some(at), ..) if options.steps_expected => (Axis::Step, Some(at)),
            (None, _, Some(at), _) => (Axis::Time, Some(at)),
            (None, None, None, Some(at)) if options.steps_expected => (Axis::Step, Some(at)),
            (None, None, None, Some(at)) => (Axis::Sample, Some(at)),
            _ => (Axis::Sample, None),
        },
    };
    let values = value_columns(&names, &kinds, holds, x, options)?;
    let plan = |(value, memory): (usize, Memory)| {
        let seconds = time.filter(|at| Some(*at) != x && *at != value);
        Plan {
            x,
            seconds,
            value,
            owner: kinds
                .iter()
                .position(|c| *c == Column::Owner)
                .filter(|at| *at != value),
            axis,
            scale: scale_of(x),
            seconds_scale: scale_of(seconds),
            memory,
            names: Rc::clone(&names),
        }
    };
    Ok(values.into_iter().map(plan).collect())
}

impl Plan {
    pub(super) fn value_name(&self) -> &str {
        &self.names[self.value]
    }

    /// Rows are told apart by the number of a process.
    pub(super) fn owned_by_pid(&self) -> bool {
        let pid = |name: &String| name.trim().eq_ignore_ascii_case("pid");
        self.owner.is_some_and(|at| pid(&self.names[at]))
    }
}

/// Columns that are read at once: nobody reads a longer list.
const COLUMNS: usize = 256;

fn value_columns(
    names: &[String],
    kinds: &[Column],
    holds: &[Holds],
    x: Option<usize>,
    options: &Options,
) -> Result<Vec<(usize, Memory)>, ImportError> {
    if let Some(wanted) = &options.column {
        let Some(at) = named_column(names, wanted) else {
            return Err(ImportError::new(format!("there is no column `{wanted}`"))
                .hint(format!("the columns are: {}", super::listed(names))));
        };
        if kinds[at] == Column::Left {
            return Err(ImportError::new(format!(
                "column `{}` is memory that is left: it falls where memory grows",
                names[at]
            ))
            .hint("name a column of what is in use"));
        }
        return Ok(vec![(at, memory_of(names, kinds, at))]);
    }
    let numbers = |at: usize| {
        matches!(
            holds.get(at),
            Some(Holds::Numbers | Holds::Runs | Holds::SomeNumbers)
        )
    };
    let usable = |at: &usize| numbers(*at) && Some(*at) != x;
    let mut found: Vec<(usize, Memory)> = (0..names.len())
        .filter(usable)
        .filter_map(|at| match &kinds[at] {
            Column::Memory(memory) => Some((at, *memory)),
            _ => None,
        })
        .collect();
    if options.wants_all() && !found.is_empty() {
        found.truncate(COLUMNS);
        return Ok(found);
    }
    found.sort_by_key(|(_, memory)| std::cmp::Reverse(memory.rank));
    let others: Vec<usize> = (0..names.len())
        .filter(usable)
        .filter(|at| kinds[*at] == Column::Other)
        .collect();
    match (found.as_slice(), others.as_slice()) {
        ([best], _) => Ok(vec![*best]),
        ([best, next, ..], _) if best.1.rank > next.1.rank => Ok(vec![*best]),
        // Who says the unit says that it is a size, and there is only one that can be meant.
        ([], [only]) if options.unit.is_some() => Ok(vec![(*only, memory_of(names, kinds, *only))]),
        ([], others) => Err(no_memory(names, kinds, others)),
        (several, _) => {
            let names: Vec<String> = several.iter().map(|(at, _)| names[*at].clone()).collect();
            Err(ImportError::new(format!(
                "several columns look like memory: {}",
                super::listed(&names)
            ))
            .hint(format!(
                "choose one: --column {}, or list all: --all",
                quoted(&names[0])
            )))
        }
    }
}

/// What is said where no column's name says that it is memory.
fn no_memory(names: &[String], kinds: &[Column], others: &[usize]) -> ImportError {
    let called = kinds
        .iter()
        .position(|kind| matches!(kind, Column::Memory(_)));
    if let Some(at) = called {
        return ImportError::new(format!(
            "column `{}` is called memory, but holds no numbers, or some that can be two (1,534)",
            names[at]
        ))
        .hint("write numbers such as 1534.2 into it");
    }
    let error = ImportError::new(format!(
        "no column's name says that it is memory (columns: {})",
        super::listed(names)
    ));
    let unit = |at: &usize| match header::unit_in(&header::words(&names[*at])) {
        Some(_) => "",
        None => " --unit MB",
    };
    let offers: Vec<String> = others
        .iter()
        .map(|at| format!("--column {}{}", quoted(&names[*at]), unit(at)))
        .collect();
    match (offers.is_empty(), kinds.contains(&Column::Left)) {
        (false, _) => error.hint(format!(
            "if one is, name it: {}",
            super::listed_by(&offers, " or ")
        )),
        (true, true) => {
            error.hint("what is left falls where memory grows: add a column of what is in use")
        }
        (true, false) => error.hint("add a column of memory, such as rss_mb"),
    }
}

/// `--column`: a name, or a number counted from 1.
fn named_column(names: &[String], wanted: &str) -> Option<usize> {
    let by_name = names
        .iter()
        .position(|name| name.trim().eq_ignore_ascii_case(wanted.trim()));
    by_name.or_else(|| {
        let at = wanted.parse::<usize>().ok()?.checked_sub(1)?;
        (at < names.len()).then_some(at)
    })
}

fn memory_of(names: &[String], kinds: &[Column], at: usize) -> Memory {
    if let Column::Memory(memory) = &kinds[at] {
        return *memory;
    }
    // A name that memory() rejects, such as `peak_rss_mb`, still says its unit.
    let unit: Vec<String> = header::words(&names[at])
        .last()
        .cloned()
        .into_iter()
        .collect();
    Memory {
        meter: Meter::Memory,
        factor: header::unit_in(&unit),
        rank: 0,
        share: false,
    }
}

/// Collects rows and makes a track of them.
#[derive(Debug)]
pub(super) struct Rows {
    plan: Plan,
    /// x, value, seconds; as written.
    rows: Kept<(f64, f64, f64)>,
    skipped: usize,
    /// Rows without the value: no bad ones.
    empty: usize,
    /// Times were written as dates or clocks, and the last one, to see midnight.
    dates: bool,
    /// Cells carried their unit and are bytes already.
    sized: bool,
}

/// One cell of an axis column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Number(f64),
    Date(f64),
}

/// One cell of the memory column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Number(f64),
    /// Written with its unit: `5.4 GB`.
    Bytes(f64),
    /// `45.3%`
    Share(f64),
    /// The row is about something else.
    Empty,
}

impl Cell {
    pub(super) fn parse(text: &str) -> Option<Cell> {
        match text.parse::<f64>() {
            Ok(value) => Some(Cell::Number(value)),
            Err(_) if let Some(share) = text.strip_suffix('%') => {
                share.trim().parse().ok().map(Cell::Share)
            }
            Err(_) => Some(match size::parse(text)? {
                (value, None) => Cell::Number(value),
                (value, Some(factor)) => Cell::Bytes(value * factor),
            }),
        }
    }
}

impl Place {
    pub(super) fn parse(text: &str) -> Option<Place> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return number.is_finite().then_some(Place::Number(number));
        }
        let moment = time::moment(text)?;
        (moment.len == text.len()).then_some(Place::Date(moment.seconds))
    }
}

impl Rows {
    pub(super) fn new(plan: Plan) -> Rows {
        Rows {
            plan,
            rows: Kept::by(|(_, value, _)| *value),
            skipped: 0,
            empty: 0,
            dates: false,
            sized: false,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn push(&mut self, x: Option<Place>, value: Option<Cell>, seconds: Option<Place>) {
        let (value, sized) = match value {
            Some(Cell::Number(value)) => (value, false),
            Some(Cell::Bytes(value)) => (value, true),
            Some(Cell::Share(value)) => {
                self.plan.memory.share = true;
                (value, false)
            }
            Some(Cell::Empty) => {
                self.empty += 1;
                return;
            }
            None => (f64::NAN, false),
        };
        if !value.is_finite() || value < 0.0 {
            self.skipped += 1;
            return;
        }
        self.sized |= sized;
        let x = match (self.plan.x, x) {
            (None, _) => self.rows.seen().0 as f64,
            (Some(_), Some(Place::Number(x))) => x,
            (Some(_), Some(Place::Date(x))) => {
                self.dates = true;
                x
            }
            (Some(_), None) => {
                self.skipped += 1;
                return;
            }
        };
        let seconds = match seconds {
            Some(Place::Number(s) | Place::Date(s)) => s,
            None => f64::NAN,
        };
        self.rows.push((x, value, seconds));
    }

    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// Halves what is kept, and says how much that is.
    pub(super) fn thin(&mut self) -> usize {
        self.rows.thin();
        self.rows.values().len()
    }

    pub(super) fn finish(self, name: &str, options: &Options) -> Result<Imported, ImportError> {
        self.is_one_table()?;
        let plan = &self.plan;
        let value_name = &plan.names[plan.value];
        let (factor, unit) = self.unit(options)?;
        let (scale, origin) = self.time_scale();
        let rows = self.rows.values();
        let seconds_origin = rows.iter().map(|r| r.2).find(|s| s.is_finite());
        let seconds_origin = seconds_origin.unwrap_or(0.0);
        let seconds_scale = plan
            .seconds_scale
            .unwrap_or_else(|| time::epoch_factor(seconds_origin));
        let points = rows
            .iter()
            .map(|&(x, value, seconds)| Point {
                x: (x - origin) * scale,
                bytes: value * factor,
                seconds: seconds
                    .is_finite()
                    .then_some((seconds - seconds_origin) * seconds_scale),
                phase: None,
            })
            .collect();
        let (points, order) = order::settled(points, plan.axis)?;
        let from = match plan.x {
            Some(x) => format!("{} from column `{}`", axis_word(plan.axis), plan.names[x]),
            None => "rows numbered".to_owned(),
        };
        let how = format!(
            "{} points: {from}, sizes from column `{value_name}` in {unit}{}{}{order}",
            self.rows.seen().0,
            super::skipped(self.skipped + self.empty),
            self.rows.thinned()
        );
        Ok(Imported {
            who: Who::of(value_name),
            track: Track {
                name: name.to_owned(),
                axis: plan.axis,
                meter: plan.memory.meter,
                points,
            },
            how,
            geometry: None,
            total_steps: None,
        })
    }

    /// Whether the rows make one series.
    fn is_one_table(&self) -> Result<(), ImportError> {
        let names = &self.plan.names;
        let (seen, _) = self.rows.seen();
        if seen == 0 {
            return Err(ImportError::new(format!(
                "no row has a number in column `{}`",
                names[self.plan.value]
            )));
        }
        if self.skipped > seen {
            return Err(ImportError::new(format!(
                "only {seen} of {} rows could be read as a table",
                seen + self.skipped
            ))
            .hint(format!("the columns are: {}", super::listed(names))));
        }
        Ok(())
    }

    fn unit(&self, options: &Options) -> Result<(f64, String), ImportError> {
        if let (Some(factor), Some(unit)) = (options.unit_factor()?, &options.unit) {
            return Ok((factor, unit.clone()));
        }
        if self.sized {
            return Ok((1.0, "the unit of each cell".to_owned()));
        }
        if self.plan.memory.share {
            let share = &self.plan.names[self.plan.value];
            let hundred = options.limit.ok_or_else(|| {
                ImportError::new(format!(
                    "column `{share}` is in per cent, and nothing says of what"
                ))
                .hint("say how much memory 100 % is: --limit 64GB")
            })?;
            return Ok((hundred / 100.0, "per cent of the limit".to_owned()));
        }
        if let Some(factor) = self.plan.memory.factor {
            return Ok((factor, unit_name(factor).to_owned()));
        }
        match header::unit_by_values(self.rows.values().iter().map(|r| r.1)) {
            Some((factor, unit)) => Ok((factor, format!("{unit} (by their size)"))),
            None => Err(ImportError::new(format!(
                "column `{}` does not say its unit",
                self.plan.names[self.plan.value]
            ))
            .hint("say it: --unit MB (or B, kB, GB, MiB …)")),
        }
    }

    /// Seconds per unit of x, and where x begins.
    fn time_scale(&self) -> (f64, f64) {
        let first = self.rows.values()[0].0;
        match (self.plan.axis, self.plan.scale) {
            (Axis::Time, _) if self.dates => (1.0, first),
            // An epoch, in whichever unit, begins at its first row.
            (Axis::Time, None) if first > 1e9 => (time::epoch_factor(first), first),
            (Axis::Time, Some(scale)) if first * scale > 1e9 => (scale, first),
            (Axis::Time, Some(scale)) => (scale, 0.0),
            _ => (1.0, 0.0),
        }
    }
}

pub(super) fn axis_word(axis: Axis) -> &'static str {
    match axis {
        Axis::Step => "steps",
        Axis::Time => "seconds",
        Axis::Sample => "order",
    }
}

pub(super) fn unit_name(factor: f64) -> &'static str {
    const NAMES: [(f64, &str); 7] = [
        (1.0, "bytes"),
        (1e3, "kB"),
        (1e6, "MB"),
        (1e9, "GB"),
        (1024.0, "KiB"),
        (1024.0 * 1024.0, "MiB"),
        (1024.0 * 1024.0 * 1024.0, "GiB"),
    ];
    NAMES
        .iter()
        .find(|(f, _)| *f == factor)
        .map_or("TB", |(_, name)| name)
}
