//! The explanation for a person: what grows with what, where the bytes are, what usually causes that,
//! how to confirm it, and what it is not.

use lowtide_core::explain::{
    BreakdownGrowth, Candidate, Driver, Explanation, Held, HolderGrowth, Memory, Moment,
    PartGrowth, Statement,
};
use lowtide_core::judge::words::percent;
use lowtide_core::text::shown;
use lowtide_core::units::{show_bytes, show_duration};
use lowtide_core::verdict::{Class, Verdict};

use super::outlook;
use super::style::{Paint, Style};
use super::text::{confidence, headline, wrapped};

/// Statements of one kind that are shown; `--json` has all of them.
const STATEMENTS: usize = 8;
/// How much better the first driver fits is worth a word from here on.
const CLEARLY: f64 = 2.0;
/// Lines of a census that are shown.
const HELD: usize = 3;
/// What is told of the first holder at the end of a run: what ends it, and the code that adds to it.
const FACTS: usize = 2;
/// Parts of memory that are shown.
const PARTS: usize = 6;

/// Everything that `lowtide explain` prints.
pub(crate) fn render(
    verdict: &Verdict,
    explanation: &Explanation,
    how: Option<&str>,
    style: Style,
) -> String {
    let mut page = Page {
        out: String::new(),
        style,
    };
    let first = wrapped(
        &headline(verdict),
        &format!("{}: ", shown(&verdict.source)),
        style.width,
    );
    page.out
        .push_str(&style.paint(outlook::weight(verdict), first.trim_end()));
    page.out.push('\n');
    if let Some(process) = &verdict.process {
        page.line(&format!(
            "{} (pid {}): {}",
            process.role, process.pid, process.command
        ));
    }
    if let Some(sure) = confidence(verdict) {
        page.bullet(&format!("confidence: {sure}"));
    }
    for line in outlook::lines(verdict) {
        page.bullet(&line);
    }
    page.drivers(verdict, explanation);
    if let Some(held) = &explanation.held {
        page.held(held);
    }
    page.holders(&explanation.holders);
    if let Some(memory) = &explanation.memory {
        page.memory(memory);
    }
    page.candidates(verdict, &explanation.candidates);
    page.statements("Ruled out", &explanation.ruled_out);
    page.statements("Not tested", &explanation.untested);
    if let Some(how) = how {
        let text = wrapped(how, "read: ", style.width);
        page.out.push('\n');
        page.out.push_str(&style.paint(Paint::Dim, text.trim_end()));
        page.out.push('\n');
    }
    page.out
}

/// The few lines at the end of `run` and `attach`: driver, memory, first holder, first candidate.
pub(crate) fn short(explanation: &Explanation, style: Style) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        out.push_str(&wrapped(text, &format!("  {label:<10} "), style.width));
    };
    if let Some(driver) = explanation.drivers.first() {
        line("grows with", &format!("{}: {}", driver.name, driver.says));
    }
    let memory = explanation
        .memory
        .iter()
        .filter(|_| !explanation.drivers.is_empty());
    // The leading one accounts for all bytes.
    let leading = memory.flat_map(|memory| memory.breakdowns.first());
    for growth in leading.filter(|growth| growth.conclusive) {
        if let Some(part) = growth.parts.first() {
            let share = percent(part.share);
            let grew = show_bytes(growth.grew);
            line("bytes in", &format!("{}: {share} of {grew}", part.name));
        }
    }
    let counted = explanation
        .memory
        .iter()
        .filter(|_| !explanation.drivers.is_empty());
    if let Some(counted) = counted.flat_map(|memory| &memory.counted).next() {
        line("counted", &counted.says);
    }
    if let Some(objects) = &explanation.objects {
        line("counted", &objects.says);
    }
    if let Some(held) = explanation.held.iter().flat_map(|held| &held.lines).next() {
        line("held", &held.says);
        for fact in held.facts.iter().take(FACTS) {
            line("", fact);
        }
    }
    if let Some(holder) = explanation.holders.first() {
        line("longer", &holder.says);
        // Two censuses have said it already.
        let is_new = explanation.held.is_none();
        for fact in holder.facts.iter().take(FACTS).filter(|_| is_new) {
            line("", fact);
        }
    }
    if let Some(candidate) = explanation.candidates.first() {
        let text = format!("{} {}", candidate.id, candidate.title);
        line("maybe", &text);
    }
    out
}

fn moment(at: Moment) -> String {
    match at.step {
        Some(step) => format!("step {step:.0}"),
        None => show_duration(at.seconds),
    }
}

struct Page {
    out: String,
    style: Style,
}

impl Page {
    fn title(&mut self, text: &str) {
        self.out.push('\n');
        self.out.push_str(&self.style.paint(Paint::Bold, text));
        self.out.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.led("  ", text);
    }

    fn led(&mut self, lead: &str, text: &str) {
        self.out.push_str(&wrapped(text, lead, self.style.width));
    }

    fn bullet(&mut self, text: &str) {
        let bullet = if self.style.unicode { '·' } else { '-' };
        self.led(&format!("  {bullet} "), text);
    }

    fn drivers(&mut self, verdict: &Verdict, explanation: &Explanation) {
        if explanation.drivers.is_empty() {
            let text = match verdict.growth {
                Some(_) => "What it grows with: unknown",
                None if verdict.verdict == Class::TooEarly => "What grows is not known yet",
                None if explanation.candidates.is_empty() => "Nothing grows",
                None => "Its floor does not grow",
            };
            self.title(text);
            return;
        }
        self.title("What it grows with");
        for (nth, driver) in explanation.drivers.iter().enumerate() {
            self.driver(nth, driver);
        }
        if let Some(objects) = &explanation.objects {
            self.bullet(&objects.says);
        }
    }

    fn driver(&mut self, nth: usize, driver: &Driver) {
        let rank = match (nth, driver.tied) {
            (0, _) => "",
            (_, true) => "or ",
            _ => "rather than ",
        };
        let mut text = format!("{rank}{}: {}", driver.name, driver.says);
        if let Some(margin) = driver.margin.filter(|m| nth == 0 && *m >= CLEARLY) {
            text += &format!("; the next best leaves {margin:.0} times as much over");
        }
        self.bullet(&text);
    }

    fn held(&mut self, held: &Held) {
        self.title("Who holds it");
        let explained = match held.explained {
            Some(share) => format!(", {} of it in Python's objects", percent(share)),
            None => String::new(),
        };
        self.line(&format!(
            "a census of Python's objects, {} to {}: {} more{explained}",
            moment(held.from),
            moment(held.to),
            show_bytes(held.grew),
        ));
        for line in held.lines.iter().take(HELD) {
            self.bullet(&line.says);
            for fact in &line.facts {
                self.led("      ", fact);
            }
        }
        for note in &held.notes {
            self.led("    note: ", note);
        }
    }

    fn holders(&mut self, holders: &[HolderGrowth]) {
        if holders.is_empty() {
            return;
        }
        self.title("What got longer");
        self.line("holders that a census named, read again on every tick");
        for holder in holders {
            self.bullet(&holder.says);
            for fact in &holder.facts {
                self.led("      ", fact);
            }
        }
    }

    fn memory(&mut self, memory: &Memory) {
        self.title("Where the bytes are");
        self.line(&format!(
            "{} (pid {}), {} looks that took {} of CPU time",
            memory.role,
            memory.pid,
            memory.looks,
            show_duration(memory.cost)
        ));
        for counted in &memory.counted {
            self.bullet(&counted.says);
        }
        for growth in &memory.breakdowns {
            self.breakdown(growth);
        }
    }

    fn breakdown(&mut self, growth: &BreakdownGrowth) {
        let accounted = match growth.conclusive {
            true => format!(", {} of it accounted for", percent(growth.accounted)),
            false => String::new(),
        };
        self.line(&format!(
            "{}, seen {}, {} to {}: {} more{accounted}",
            growth.title,
            growth.examiner,
            moment(growth.from),
            moment(growth.to),
            show_bytes(growth.grew),
        ));
        for part in growth.parts.iter().take(PARTS) {
            self.part(part, growth.conclusive);
        }
        for missing in &growth.missing {
            self.led("    not seen: ", &missing.says);
        }
    }

    fn part(&mut self, part: &PartGrowth, conclusive: bool) {
        let share = match part.held {
            true if conclusive && part.grew >= 0.0 => percent(part.share),
            true => String::new(),
            false => "not counted".to_owned(),
        };
        // Of some parts only the number is known.
        let sizes = match (part.first, part.last) {
            (Some(first), Some(last)) => {
                format!("{:>9} -> {:>9}", show_bytes(first), show_bytes(last))
            }
            _ => String::new(),
        };
        let more = match part.more {
            Some(more) if more != 0 => format!("{more:+}"),
            _ => String::new(),
        };
        let name = shown(&part.name);
        let row = format!("    {name:<34} {sizes:>22}  {share:>11}  {more}");
        self.out.push_str(row.trim_end());
        self.out.push('\n');
        for member in &part.members {
            self.led("      ", member);
        }
    }

    fn candidates(&mut self, verdict: &Verdict, candidates: &[Candidate]) {
        if candidates.is_empty() {
            if verdict.growth.is_some() {
                if verdict.verdict == Class::TooEarly {
                    self.title("Likely cause: not decided yet");
                } else {
                    self.title("Likely cause: unknown");
                    self.line("none of the known causes fits what was measured");
                }
            }
            return;
        }
        self.title(if candidates.len() == 1 {
            "Likely cause"
        } else {
            "Likely causes, best first"
        });
        for candidate in candidates {
            self.candidate(candidate);
        }
    }

    fn candidate(&mut self, candidate: &Candidate) {
        let head = format!(
            "{} {} ({} of its signs seen)",
            candidate.id,
            candidate.title,
            percent(candidate.score)
        );
        self.line(&head);
        self.led("    seen:  ", &candidate.because.join("; "));
        self.led("    cause: ", &candidate.cause);
        self.led("    try:   ", &candidate.experiment.says);
        if let Some(command) = &candidate.experiment.command {
            // Not wrapped: it is to be pasted.
            self.out.push_str(&format!("      {}\n", shown(command)));
        }
        let set = candidate.experiment.to_set();
        if !set.is_empty() {
            self.led("    set:   ", &set.join(" "));
        }
        self.led("    then:  ", &candidate.experiment.expect);
        self.led("    fix:   ", &candidate.fix);
        self.led("    see:   ", &candidate.sources.join(" "));
    }

    fn statements(&mut self, title: &str, statements: &[Statement]) {
        if statements.is_empty() {
            return;
        }
        self.title(title);
        // Many entries miss the same thing: it is said once.
        let mut grouped: Vec<(Vec<&str>, &str)> = Vec::new();
        for Statement { about, says } in statements {
            match grouped.iter_mut().find(|(_, same)| same == says) {
                Some((abouts, _)) => abouts.push(about),
                None => grouped.push((vec![about], says)),
            }
        }
        for (abouts, says) in grouped.iter().take(STATEMENTS) {
            self.bullet(&format!("{}: {says}", abouts.join(", ")));
        }
        if grouped.len() > STATEMENTS {
            self.bullet(&format!("{} more with --json", grouped.len() - STATEMENTS));
        }
    }
}
