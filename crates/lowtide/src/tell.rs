//! Talk goes to stderr, and a stderr that cannot be written (closed, full, gone) changes neither what we do
//! nor the code we end with: `eprintln!` would panic there.

/// One line on stderr.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;
