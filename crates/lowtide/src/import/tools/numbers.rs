//! Numbers without a name, a line each, perhaps with lines of `date` between: `while …; do date; ps -o rss= -p PID;
//! done`. Nothing in them says memory, so somebody has to: the command, where the file shows it (`$ ps -o rss= …`,
//! the head of `watch`), or `--unit`.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "bare numbers",
    is,
    read,
};

const LOOK: usize = 40;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    let count = |test: &dyn Fn(&str) -> bool| lines.iter().filter(|line| test(line)).count();
    let numbers = count(&|line| number(line).is_some());
    let dated = count(&|line| dated(line).is_some());
    let others = count(&|line| time::whole_line(line).is_some() || command(line));
    // The look may end inside a line. Numbers alone are a table of one column.
    others + dated > 0 && numbers + dated > 0 && numbers + dated + others + 1 >= lines.len()
}

/// `2026-11-18 00:25:26 33092`
fn dated(line: &str) -> Option<(time::Moment, f64)> {
    let line = line.trim();
    // An epoch before a number makes a table of two columns.
    if !line.contains(':') {
        return None;
    }
    let moment = time::moment(line)?;
    Some((moment, number(&line[moment.len..])?))
}

/// Whole, and no epoch: those are times.
fn number(line: &str) -> Option<f64> {
    let line = line.trim();
    let digits = line.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (digits && time::moment(line).is_none()).then(|| line.parse().ok())?
}

/// `$ ps -o rss= -p 4242`, `+ ps …`, `Every 2.0s: ps …`
fn command(line: &str) -> bool {
    line.contains("ps ") && line.contains("rss")
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    const KIB: f64 = 1024.0;
    let mut factor = gather.unit();
    let mut unsaid = false;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if command(line) {
            factor = factor.or(Some(KIB));
            return;
        }
        let mut line = line;
        if let Some((moment, _)) = dated(line) {
            gather.at(moment);
            line = line.trim_start()[moment.len..].trim();
        }
        match (number(line), factor) {
            (Some(number), Some(factor)) => {
                let whose = Whose {
                    name: "process",
                    pid: None,
                    command: None,
                    kind: "memory",
                    meter: Meter::Memory,
                };
                gather.take(whose, number * factor);
            }
            (Some(_), None) => unsaid = true,
            (None, _) => gather.skip(),
        }
    })?;
    if unsaid {
        return Err(ImportError::new("its numbers do not say what they are")
            .hint("if they are what `ps -o rss=` prints, say so: --unit KiB"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::tests::{asked, judged, mib, xs};

    #[test]
    fn somebody_has_to_say_what_they_are() {
        let text: String = (0..4)
            .map(|n| {
                format!(
                    "Wed Nov 18 00:00:{:02} UTC 2026\n {}\n",
                    10 * n,
                    (500 + n) * 1024
                )
            })
            .collect();
        let refused = asked(&text, &Options::default()).unwrap_err();
        assert!(refused.hint.unwrap().contains("--unit KiB"));
        let said = Options {
            unit: Some("KiB".to_owned()),
            ..Options::default()
        };
        let one = asked(&text, &said).unwrap();
        assert_eq!(
            (mib(&one), xs(&one)),
            (
                vec![500.0, 501.0, 502.0, 503.0],
                vec![0.0, 10.0, 20.0, 30.0]
            )
        );
        let stamped = "2026-11-18 00:25:26 512000\n2026-11-18 00:25:36 513024\n";
        assert!(asked(stamped, &Options::default()).is_err());
        assert_eq!(xs(&asked(stamped, &said).unwrap()), [0.0, 10.0]);
        let typed = format!("$ while sleep 10; do date; ps -o rss= -p 4242; done\n{text}");
        assert_eq!(mib(&judged(&typed)), mib(&one));
    }
}
