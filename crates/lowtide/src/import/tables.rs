//! The series of a table: one for each column that is asked for, and one for each process where a column says whose
//! row it is. Fed by CSV and JSON lines, row by row.

use std::collections::HashMap;

use super::kept::MOST;
use super::table::{Cell, Place, Plan, Rows};
use super::{ImportError, Imported, Options, Who};

/// Processes, hosts or ranks that are told apart in one table.
const OWNERS: usize = 1024;

pub(super) struct Tables {
    plans: Vec<Plan>,
    /// In the order in which they came, each with the rows of every plan.
    owners: Vec<(Option<String>, Vec<Rows>)>,
    by_name: HashMap<String, usize>,
    /// Rows that are kept, of all.
    kept: usize,
    left_out: usize,
}

impl Tables {
    pub(super) fn new(plans: Vec<Plan>) -> Tables {
        Tables {
            plans,
            owners: Vec::new(),
            by_name: HashMap::new(),
            kept: 0,
            left_out: 0,
        }
    }

    /// `values` are in the order of the plans.
    pub(super) fn row(
        &mut self,
        owner: Option<&str>,
        x: Option<Place>,
        values: &[Option<Cell>],
        seconds: Option<Place>,
    ) {
        let Some(at) = self.owner(owner) else {
            self.left_out += 1;
            return;
        };
        for (rows, value) in self.owners[at].1.iter_mut().zip(values) {
            rows.push(x, *value, seconds);
        }
        self.kept += values.len();
        if self.kept >= MOST {
            self.thin();
        }
    }

    /// A line that is no row.
    pub(super) fn skip(&mut self) {
        if let Some(at) = self.owner(None) {
            self.owners[at].1.iter_mut().for_each(Rows::skip);
        }
    }

    /// Where the rows of an owner stand; those that nobody owns go to the first.
    fn owner(&mut self, owner: Option<&str>) -> Option<usize> {
        let known = match owner {
            Some(name) => self.by_name.get(name).copied(),
            None => (!self.owners.is_empty()).then_some(0),
        };
        if known.is_some() || self.owners.len() >= OWNERS {
            return known;
        }
        // What stood before the first owner's row is kept with it.
        if let (Some(name), [(first @ None, _)]) = (owner, self.owners.as_mut_slice()) {
            *first = Some(name.to_owned());
            self.by_name.insert(name.to_owned(), 0);
            return Some(0);
        }
        let rows = self.plans.iter().cloned().map(Rows::new).collect();
        self.owners.push((owner.map(str::to_owned), rows));
        let at = self.owners.len() - 1;
        if let Some(name) = owner {
            self.by_name.insert(name.to_owned(), at);
        }
        Some(at)
    }

    fn thin(&mut self) {
        let rows = self.owners.iter_mut().flat_map(|(_, rows)| rows);
        self.kept = rows.map(Rows::thin).sum();
    }

    /// Every series that can be read; why not, where none can.
    pub(super) fn finish(
        mut self,
        name: &str,
        options: &Options,
    ) -> Result<Vec<Imported>, ImportError> {
        if self.owners.is_empty() {
            self.owner(None);
        }
        let several = (self.owners.len() > 1, self.plans.len() > 1);
        let mut read = Vec::new();
        let mut refused = None;
        for (owner, rows) in self.owners {
            for rows in rows {
                let whose = rows.plan().whose(owner.as_deref(), several);
                match rows.finish(name, options) {
                    Ok(one) => read.push(Imported { who: whose, ..one }),
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
        }
        match (read.is_empty(), refused) {
            (true, Some(error)) => Err(error),
            _ => Ok(read),
        }
    }
}

impl Plan {
    /// Whose series the rows of one owner are in this column. `several` owners, and columns.
    fn whose(&self, owner: Option<&str>, several: (bool, bool)) -> Who {
        let column = self.value_name();
        let owner = owner.filter(|_| several.0);
        let pid = owner.filter(|_| self.owned_by_pid());
        let name = match (owner, pid, several.1) {
            (None, ..) => column.to_owned(),
            (Some(_), Some(pid), false) => format!("process {pid}"),
            (Some(owner), _, false) => owner.to_owned(),
            (Some(owner), _, true) => format!("{owner} {column}"),
        };
        Who {
            name,
            pid: pid.and_then(|pid| pid.parse().ok()),
            command: None,
            kind: if several.1 { column } else { "memory" }.to_owned(),
        }
    }
}
