//! What `scripts/fuzz` tries on the live view: what is typed, and what the job prints into its pane.

use super::keys::parse;
use super::output::Output;

/// Keys, as a terminal sends them.
pub(crate) fn keys(bytes: &[u8]) {
    assert!(parse(bytes).len() <= bytes.len());
}

/// Two bytes of size, two of another that the window gets on the way, then what the job prints.
pub(crate) fn screen(bytes: &[u8]) {
    let Some(([rows, columns, later_rows, later_columns], printed)) = bytes.split_first_chunk()
    else {
        return;
    };
    let mut output = Output::new((*rows).into(), (*columns).into());
    let (before, after) = printed.split_at(printed.len() / 2);
    output.feed_known(before);
    output.resize((*later_rows).into(), (*later_columns).into());
    output.feed(after);
    let rest = output.rest();
    // What is handed over is text and colours: nothing that moves the cursor or asks the terminal.
    assert!(
        !rest.contains(&0x07),
        "{:?}",
        String::from_utf8_lossy(&rest)
    );
}
