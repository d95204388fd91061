//! The table of files: what `lowtide judge FILE` makes of each file in `fixtures/files`, against what is known of
//! it by construction (`expected.jsonl`; README.md there tells its fields). Asked of the binary, as a user asks.
//!
//! ```text
//! cargo test -p lowtide --test files              # the table, and a failure if anything is wrong
//! cargo test -p lowtide --test files -- FOLDER    # the same for other files
//! ```
//!
//! Wrong is: a series that is not the memory, a wrong factor or axis, a verdict against the truth, a hint that
//! does not work when pasted. A file that is refused though it could be read is counted apart.

mod answer;
mod expected;
mod hints;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use answer::Answer;
use expected::{Expect, Row};

fn main() -> ExitCode {
    let Some(folder) = folder() else {
        return ExitCode::SUCCESS;
    };
    let rows = expected::rows(&folder);
    let outcomes: Vec<(&Row, Outcome)> = rows
        .iter()
        .map(|row| (row, outcome(&folder, row)))
        .collect();
    let width = rows.iter().map(|row| row.shown().len()).max().unwrap_or(0);
    for (row, outcome) in &outcomes {
        println!("{:<width$}  {}", row.shown(), outcome.shown());
    }
    println!("\n{}", totals(&outcomes));
    let wrong = outcomes.iter().any(|(_, outcome)| outcome.is_wrong());
    let untold = expected::untold(&folder, &rows);
    for file in &untold {
        println!("no row in expected.jsonl: {file}");
    }
    ExitCode::from(u8::from(wrong || !untold.is_empty()))
}

/// The folder to try. A word that is none is a filter of `cargo test`, meant for other tests.
fn folder() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    match std::env::args().skip(1).find(|arg| !arg.starts_with('-')) {
        None => Some(own),
        Some(folder) if Path::new(&folder).is_dir() => Some(folder.into()),
        Some(folder) if folder.contains('/') => panic!("there is no folder {folder}"),
        Some(filter) => "files".contains(&filter).then_some(own),
    }
}

enum Outcome {
    ReadRight(String),
    RefusedRightly(String),
    RefusedThoughReadable(String),
    Wrong(String),
}

impl Outcome {
    fn is_wrong(&self) -> bool {
        matches!(self, Outcome::Wrong(_))
    }

    fn shown(&self) -> String {
        match self {
            Outcome::ReadRight(how) => format!("read right               {how}"),
            Outcome::RefusedRightly(why) => format!("refused                  {why}"),
            Outcome::RefusedThoughReadable(why) => format!("refused though readable  {why}"),
            Outcome::Wrong(what) => format!("WRONG                    {what}"),
        }
    }
}

fn outcome(folder: &Path, row: &Row) -> Outcome {
    let answer = answer::ask(folder, &row.file, &row.flags);
    match (&answer, row.expect) {
        (Answer::Broken(what), _) => Outcome::Wrong(what.clone()),
        (Answer::Read(read), Expect::Refused) => Outcome::Wrong(format!(
            "read, and it is {}: {}",
            row.why.as_deref().unwrap_or("no memory"),
            read.how
        )),
        (Answer::Read(read), _) => match row.check(read).or_else(|| series(folder, row)) {
            Some(wrong) => Outcome::Wrong(format!("{wrong}: {}", read.how)),
            None => Outcome::ReadRight(read.how.clone()),
        },
        (Answer::Refused { message, hint }, expect) => {
            if let Some(wrong) = hints::broken(folder, &row.file, &row.flags, hint.as_deref()) {
                return Outcome::Wrong(wrong);
            }
            match expect {
                Expect::Read => Outcome::RefusedThoughReadable(message.clone()),
                Expect::Refused | Expect::Either => Outcome::RefusedRightly(message.clone()),
            }
        }
    }
}

/// Names that `--all` has to list and does not.
fn series(folder: &Path, row: &Row) -> Option<String> {
    let missing = |names: &[String]| {
        let missing: Vec<&str> = row
            .series
            .iter()
            .filter(|name| !names.contains(name))
            .map(String::as_str)
            .collect();
        (!missing.is_empty()).then(|| format!("--all does not list {}", missing.join(", ")))
    };
    match row.series.is_empty() {
        true => None,
        false => missing(&answer::names(folder, &row.file)),
    }
}

/// "read right 80, refused 61 (all of them rightly: 55; though readable: 6), wrong 0"
fn totals(outcomes: &[(&Row, Outcome)]) -> String {
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| is(o)).count();
    let right = count(|o| matches!(o, Outcome::ReadRight(_)));
    let rightly = count(|o| matches!(o, Outcome::RefusedRightly(_)));
    let readable = count(|o| matches!(o, Outcome::RefusedThoughReadable(_)));
    let wrong = count(Outcome::is_wrong);
    let refused = rightly + readable;
    let all = outcomes.len();
    format!(
        "{all} questions: read right {right}, refused {refused} (rightly {rightly}, though readable {readable}), wrong {wrong}"
    )
}
