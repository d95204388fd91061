//! The web page: our own modules as one script, and the report as one file that carries its data.
//!
//! `serve` sends script and style by themselves; `report` puts everything into one HTML file. The files
//! are in `web/` and are part of the binary, so nothing has to be built or fetched.

use anyhow::{Context, Result};
use lowtide_core::report::Report;

/// In an order in which each needs only what came before.
const MODULES: [&str; 12] = [
    GLOSSARY,
    include_str!("../../web/words.js"),
    include_str!("../../web/scale.js"),
    include_str!("../../web/draw.js"),
    include_str!("../../web/chart.js"),
    include_str!("../../web/scene.js"),
    include_str!("../../web/parts.js"),
    include_str!("../../web/run.js"),
    include_str!("../../web/api.js"),
    include_str!("../../web/compare.js"),
    include_str!("../../web/live.js"),
    include_str!("../../web/main.js"),
];
pub(crate) const GLOSSARY: &str = include_str!("../../web/glossary.js");
pub(crate) const STYLE: &str = include_str!("../../web/style.css");
const SHELL: &str = include_str!("../../web/page.html");

/// All modules as one: what they import from each other is simply there.
pub(crate) fn script() -> String {
    let mut out = String::from("\"use strict\";(() => {\n");
    for module in MODULES {
        for line in module.lines() {
            let line = line.strip_prefix("export ").unwrap_or(line);
            // Imports, re-exports and comment lines are left out.
            let left_out =
                line.starts_with("import ") || line.starts_with("{ ") || line.starts_with("// ");
            if !left_out {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out.push_str("})();\n");
    out
}

/// The page that the server sends: no data in it, script and style from the same place.
pub(crate) fn shell() -> String {
    SHELL
        .replace("<!--policy-->\n", "")
        .replace("<!--home-->", "/")
        .replace("<!--style-->", r#"<link rel="stylesheet" href="/app.css">"#)
        .replace("<!--data-->\n", "")
        .replace("<!--script-->", r#"<script src="/app.js"></script>"#)
}

/// One file with everything in it, which may run this very script and nothing else.
pub(crate) fn file(report: &Report) -> Result<String> {
    let nonce = nonce()?;
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    let data = json_in_html(report)?;
    Ok(SHELL
        .replace(
            "<!--policy-->",
            &format!(r#"<meta http-equiv="Content-Security-Policy" content="{policy}">"#),
        )
        .replace("<!--home-->", "#main")
        .replace(
            "<!--style-->",
            &format!("<style nonce=\"{nonce}\">\n{STYLE}</style>"),
        )
        .replace(
            "<!--script-->",
            &format!("<script nonce=\"{nonce}\">\n{}</script>", script()),
        )
        // Last: nothing is looked for in what a job may have named.
        .replacen(
            "<!--data-->",
            &format!("<script type=\"application/json\" id=\"report\">{data}</script>"),
            1,
        ))
}

/// JSON that cannot end the element it stands in, whatever its strings hold.
fn json_in_html(report: &Report) -> Result<String> {
    let json = serde_json::to_string(report).context("cannot write the report as JSON")?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// What a job could not have known when it chose its name.
fn nonce() -> Result<String> {
    Ok(random_hex(16)?)
}

/// So many random bytes of the kernel, in hexadecimal digits.
pub(crate) fn random_hex(bytes: usize) -> std::io::Result<String> {
    use std::io::Read;
    let mut random = vec![0; bytes];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one_piece() {
        let script = script();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }

    /// What a job names itself must only ever become text.
    #[test]
    fn no_module_makes_html_out_of_strings() {
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
        ] {
            assert!(
                MODULES.iter().all(|module| !module.contains(word)),
                "{word}"
            );
        }
    }

    /// Joined into one, two modules must not give the same name to two things.
    #[test]
    fn names_at_the_top_of_modules_are_unique() {
        let mut names = std::collections::BTreeSet::new();
        for line in MODULES.iter().flat_map(|module| module.lines()) {
            let line = line.strip_prefix("export ").unwrap_or(line);
            let line = line.strip_prefix("async ").unwrap_or(line);
            let kinds = ["const ", "let ", "function* ", "function ", "class "];
            let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else {
                continue;
            };
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &rest[..end.unwrap_or(rest.len())];
            assert!(names.insert(name), "{name} is there twice");
        }
        assert!(names.len() > 40);
    }

    #[test]
    fn the_shell_has_its_places() {
        for place in ["policy", "style", "data", "script"] {
            assert_eq!(
                SHELL.matches(&format!("<!--{place}-->")).count(),
                1,
                "{place}"
            );
        }
    }
}
