//! What the place we write to can show: how wide, in colour or not, which characters.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Where nothing says how wide it is.
const WIDTH: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub width: usize,
    pub colour: bool,
    pub unicode: bool,
}

/// Blue and orange stay apart for every kind of colour blindness; every colour also has its own
/// character, so that nothing is lost without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Floor,
    Crest,
    Bad,
    Dim,
}

impl Style {
    /// Nothing but characters.
    #[cfg(test)]
    pub(crate) const PLAIN: Style = Style {
        width: WIDTH,
        colour: false,
        unicode: true,
    };

    /// What this stream can show.
    pub(crate) fn of(stream: &(impl IsTerminal + AsFd)) -> Style {
        let terminal = stream.is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let columns = terminal
            .then(|| tcgetwinsize(stream).ok())
            .flatten()
            .map_or(WIDTH, |size| usize::from(size.ws_col));
        Style {
            width: columns.clamp(40, 160),
            colour: terminal && !set("NO_COLOR") && !dumb,
            unicode: !dumb && speaks_utf8(),
        }
    }

    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            Paint::Bold => "1",
            Paint::Floor => "34",
            Paint::Crest => "33",
            Paint::Bad => "1;33",
            Paint::Dim => "2",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The first of these that is set decides; none set is what containers and CI have, and they show
/// UTF-8.
fn speaks_utf8() -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .is_none_or(|locale| {
            let lower = locale.to_ascii_lowercase();
            lower.contains("utf-8") || lower.contains("utf8")
        })
}

#[cfg(test)]
mod tests {
    use lowtide_core::text::for_terminal;

    use super::*;

    #[test]
    fn our_own_colours_pass_the_last_door() {
        let colour = Style {
            colour: true,
            ..Style::PLAIN
        };
        for paint in [
            Paint::Bold,
            Paint::Floor,
            Paint::Crest,
            Paint::Bad,
            Paint::Dim,
        ] {
            let painted = colour.paint(paint, "x");
            assert!(painted.contains('\x1b'));
            assert_eq!(for_terminal(&painted), painted);
        }
    }
}
