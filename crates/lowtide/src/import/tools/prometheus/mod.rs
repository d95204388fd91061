//! Prometheus: the answer of `query_range` (`range`), and `/metrics` scraped in a loop (`text`). A metric counts only
//! if its name says memory in use; expressions have no name.

pub(super) mod range;
pub(super) mod text;

use super::super::gather::Whose;
use super::super::header;
use super::super::meaning::{self, Meaning};

/// Names that say memory and mean what there is, or what was asked for.
const NOT_IN_USE: [&str; 5] = ["machine", "request", "requests", "capacity", "allocatable"];

/// cAdvisor's names without a unit: `container_memory_rss`. Prometheus' base unit is the byte.
const BYTES: &str = "container_memory_";

/// A metric, as the gatherer takes it, with its bytes per unit.
fn metric<'a>(metric: &str, shown: &'a str) -> Option<(Whose<'a>, f64)> {
    let words = header::words(metric);
    if words.iter().any(|w| NOT_IN_USE.contains(&w.as_str())) {
        return None;
    }
    let unit = header::unit_in(&words);
    let Meaning::Memory(meter, _) = meaning::of(&words, unit.is_some()) else {
        return None;
    };
    let factor = unit.or_else(|| metric.starts_with(BYTES).then_some(1.0))?;
    let whose = Whose {
        name: shown,
        pid: None,
        command: None,
        // Two metrics are two kinds: the working set holds caches that the resident set does not.
        kind: shown.split('{').next().unwrap_or(shown),
        meter,
    };
    Some((whose, factor))
}
