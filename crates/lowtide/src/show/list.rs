//! Every series of a file on a line of its own: how large it is, whose, and its verdict.

use lowtide_core::text::{short, shown};
use lowtide_core::units::show_bytes;

use super::outlook;
use super::style::Style;
use super::text::answer;
use crate::source::Listed;

/// A command line is cut at this many characters.
const NAME: usize = 40;

/// The largest first: that is who people look for.
pub(crate) fn render(source: &str, listed: &[Listed], style: Style) -> String {
    let mut rows: Vec<&Listed> = listed.iter().collect();
    rows.sort_by(|a, b| b.verdict.floor.last.total_cmp(&a.verdict.floor.last));
    let name = |one: &Listed| short(&shown(&one.who.name), NAME);
    let names = rows.iter().map(|one| name(one).chars().count());
    let width = names.max().unwrap_or(0);
    let pids = rows.iter().any(|one| one.who.pid.is_some());
    let mut out = format!("{}: {} series\n", shown(source), rows.len());
    for one in rows {
        let pid = match one.who.pid {
            Some(pid) => format!("{pid:>8}"),
            None if pids => " ".repeat(8),
            None => String::new(),
        };
        let answer = answer(&one.verdict);
        out.push_str(&format!(
            "{pid}  {:<width$}  {:>8}  {}\n",
            name(one),
            show_bytes(one.verdict.floor.last),
            style.paint(outlook::weight(&one.verdict), &shown(&answer)),
        ));
    }
    out
}
