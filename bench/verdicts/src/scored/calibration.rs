//! Whether `confidence` is what it says: of the calls with 90 %, nine in ten should be right. Fitted without a family,
//! it is asked about that family.

use lowtide_core::judge::confidence::{Curve, LEAK, LEVEL, WARM_UP};
use lowtide_core::verdict::Class;

use super::{Call, Scored};

/// Where one bin ends and the next begins.
const EDGES: [f64; 9] = [0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.000_001];
/// Newton's steps: it is there after ten.
const STEPS: usize = 30;
/// Holds a weight that nothing moves.
const RIDGE: f64 = 1e-3;

/// What a call is named, which it is, and the curve that is in use.
type Kind = (&'static str, fn(Class) -> bool, Curve);

const KINDS: [Kind; 3] = [
    ("leak", |class| matches!(class, Class::Leak), LEAK),
    ("warm-up", |class| matches!(class, Class::WarmUp), WARM_UP),
    (
        "level",
        |class| matches!(class, Class::Spikes | Class::Stable),
        LEVEL,
    ),
];

/// Calls with their weight: a call at any moment of any run, leaks weighing as much as harmless runs.
fn weighted(
    runs: &[Scored],
    of: fn(Class) -> bool,
    counts: impl Fn(&Scored) -> bool,
) -> Vec<(&Scored, &Call, f64)> {
    let runs = || runs.iter().filter(|run| counts(run));
    let leaks = runs().filter(|run| run.leak).count() as f64;
    let harmless = runs().count() as f64 - leaks;
    let mut all = Vec::new();
    for run in runs() {
        let calls: Vec<&Call> = run.calls.iter().filter(|call| of(call.class)).collect();
        let many = if run.leak { leaks } else { harmless };
        let weight = 1.0 / (many * run.moments as f64);
        all.extend(
            calls
                .into_iter()
                .filter(|call| call.stands_on.is_some())
                .map(|call| (run, call, weight)),
        );
    }
    all
}

/// By logistic regression: Newton's method on three numbers.
fn fit(calls: &[(&Scored, &Call, f64)]) -> Curve {
    let sum: f64 = calls.iter().map(|(.., weight)| weight).sum();
    let scale = calls.len() as f64 / sum.max(f64::MIN_POSITIVE);
    let mut curve = Curve([0.0; 3]);
    for _ in 0..STEPS {
        let mut gradient = curve.0.map(|weight| -RIDGE * weight);
        let mut hessian = [[0.0; 3]; 3];
        for (_, call, weight) in calls {
            let stands_on = call.stands_on.unwrap_or_default();
            let says = curve.at(stands_on);
            let features = [1.0, stands_on[0], stands_on[1]];
            let weight = weight * scale;
            let off = weight * (f64::from(u8::from(call.right)) - says);
            let steep = weight * says * (1.0 - says);
            for (row, one) in features.iter().enumerate() {
                gradient[row] += off * one;
                for (column, other) in features.iter().enumerate() {
                    hessian[row][column] += steep * one * other;
                }
            }
        }
        (0..3).for_each(|nth| hessian[nth][nth] += RIDGE);
        let step = solve(hessian, gradient);
        (0..3).for_each(|nth| curve.0[nth] += step[nth]);
    }
    curve
}

/// Three equations, by elimination; the matrix is positive definite.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        for row in pivot + 1..3 {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            matrix[row]
                .iter_mut()
                .zip(above)
                .for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[pivot];
        }
    }
    let mut found = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3)
            .map(|column| matrix[row][column] * found[column])
            .sum();
        found[row] = (right[row] - known) / matrix[row][row];
    }
    found
}

/// Said and true, of the calls of one bin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    pub said: f64,
    pub right: f64,
    pub weight: f64,
    pub calls: usize,
}

/// The bins of one kind of call, and whose they are.
pub struct Row {
    pub name: String,
    pub bins: Vec<Bin>,
}

/// Fits and prints: the curves, and the diagram with every family asked by a curve of the others. `tested` are asked by the
/// curves that are in use.
pub fn print(fitted_on: &[Scored], tested: &[Scored]) -> Vec<Row> {
    let mut rows = Vec::new();
    println!(
        "\nConfidence: said against right (at any moment of any run, leaks weighing as much as harmless runs)"
    );
    for (name, of, in_use) in KINDS {
        let calls = weighted(fitted_on, of, |_| true);
        let all = fit(&calls);
        println!("  {name}: fitted {:.2?}, in use {:.2?}", all.0, in_use.0);
        let mut families: Vec<&str> = fitted_on.iter().map(|run| run.family.as_str()).collect();
        families.sort_unstable();
        families.dedup();
        let mut bins = [Bin::default(); EDGES.len() - 1];
        for family in families {
            let curve = fit(&weighted(fitted_on, of, |run| run.family != family));
            let own = calls.iter().filter(|(run, ..)| run.family == family);
            own.for_each(|(_, call, weight)| add(&mut bins, curve, call, *weight));
        }
        show("generated, family left out", &bins);
        rows.push(Row {
            name: format!("{name}, generated"),
            bins: bins.to_vec(),
        });
        let mut bins = [Bin::default(); EDGES.len() - 1];
        let calls = weighted(tested, of, |_| true);
        calls
            .iter()
            .for_each(|(_, call, weight)| add(&mut bins, in_use, call, *weight));
        show("recorded processes, in use", &bins);
        rows.push(Row {
            name: format!("{name}, recorded"),
            bins: bins.to_vec(),
        });
    }
    rows
}

fn add(bins: &mut [Bin], curve: Curve, call: &Call, weight: f64) {
    let said = curve.at(call.stands_on.unwrap_or_default());
    let at = EDGES[1..]
        .partition_point(|edge| *edge <= said)
        .min(bins.len() - 1);
    bins[at].said += weight * said;
    bins[at].right += weight * f64::from(u8::from(call.right));
    bins[at].weight += weight;
    bins[at].calls += 1;
}

fn show(name: &str, bins: &[Bin]) {
    let all: f64 = bins.iter().map(|bin| bin.weight).sum();
    for bin in bins.iter().filter(|bin| bin.calls > 0) {
        println!(
            "    {name:30} said {:.3}  right {:.3}  ({:.1} % of such calls, {})",
            bin.said / bin.weight,
            bin.right / bin.weight,
            100.0 * bin.weight / all,
            bin.calls
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odds of one to e^(1 + 2x) are found again.
    #[test]
    fn a_curve_is_found_again() {
        let run = Scored::named("made");
        let mut calls = Vec::new();
        for nth in 0..41 {
            let x = f64::from(nth) / 20.0 - 1.0;
            let says = Curve([1.0, 2.0, 0.0]).at([x, 0.0]);
            for (right, weight) in [(true, says), (false, 1.0 - says)] {
                calls.push((
                    Call {
                        class: Class::Leak,
                        right,
                        stands_on: Some([x, 0.0]),
                    },
                    weight,
                ));
            }
        }
        let calls: Vec<_> = calls
            .iter()
            .map(|(call, weight)| (&run, call, *weight))
            .collect();
        let found = fit(&calls).0;
        assert!(
            (found[0] - 1.0).abs() < 0.01 && (found[1] - 2.0).abs() < 0.01,
            "{found:?}"
        );
    }
}
