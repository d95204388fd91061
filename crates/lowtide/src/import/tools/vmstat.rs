//! `vmstat 1` tells what is free and cached, and not how much memory there is: what is used cannot be known from it.
//! It is refused in words of its own, because a log reader would take one of its numbers for something else.

use super::super::gather::Gather;
use super::super::{Feed, ImportError};
use super::{Tool, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "vmstat",
    is,
    read,
};

/// A line of `date` and the two lines of the head.
const LOOK: usize = 3;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| {
        let heads: Vec<&str> = line.split_whitespace().collect();
        ["swpd", "free", "si", "so"]
            .iter()
            .all(|name| heads.contains(name))
    })
}

fn read(_: &mut Feed<'_>, _: &mut Gather) -> Result<(), ImportError> {
    Err(ImportError::new(
        "vmstat tells what the machine has free, and not how much it has: what is used is not in it",
    )
    .hint("`free -m -s 1` or `sar -r 1` tell what the machine uses, `pidstat -r 1` what each process does"))
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::tests::asked;

    #[test]
    fn what_is_free_is_not_judged() {
        let text = "procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free   buff  cache   si   so    bi    bo\n 1  0      0 6150364 131176 15061488    0    0  1479  3130\n";
        let refused = asked(text, &Options::default()).unwrap_err();
        assert!(refused.message.contains("free"), "{refused}");
    }
}
