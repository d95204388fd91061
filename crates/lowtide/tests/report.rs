//! `lowtide report` by the real binary: one file, with its data, that asks for nothing.

use std::process::Command;

use lowtide_testing::Starts;

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");

fn report(name: &str, table: &str) -> String {
    written(name, table, "r.html")
}

fn written(name: &str, table: &str, output: &str) -> String {
    String::from_utf8(bytes(name, table, output)).unwrap()
}

fn bytes(name: &str, table: &str, output: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join(name);
    std::fs::write(&source, table).unwrap();
    let output = folder.path().join(output);
    let mut command = Command::new(LOWTIDE);
    command.arg("report").arg(&source).arg("-o").arg(&output);
    let done = command.args(["--epoch-steps", "40"]).finish();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    std::fs::read(output).unwrap()
}

/// Of 40 each, so many that growth beyond them is a leak.
const EPOCHS: usize = 10;
const STEPS: usize = 40 * EPOCHS;

fn rising() -> String {
    let rows = (1..=STEPS).map(|step| format!("{step},{}\n", 1000 + 10 * step));
    std::iter::once("step,memory_mb\n".to_owned())
        .chain(rows)
        .collect()
}

#[test]
fn the_file_carries_everything_and_asks_for_nothing() {
    let html = report("a.csv", &rising());
    assert!(html.contains("default-src 'none'; script-src 'nonce-"));
    // Nothing to load: neither script nor style nor picture has an address.
    assert!(!html.contains("src=") && !html.contains("@import") && !html.contains("url("));
    let (_, data) = html.split_once(r#"id="report">"#).unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let report: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(report["lines"][0]["x"].as_array().unwrap().len(), STEPS);
    assert_eq!(report["verdict"]["verdict"], "leak");
    assert!(report["headline"].as_str().unwrap().starts_with("LEAK"));
    assert_eq!(report["epochs"].as_array().unwrap().len(), EPOCHS);
}

#[test]
fn a_name_that_is_a_script_stays_a_name() {
    let html = report("<script>alert(1)<!--data--><!--script-->", &rising());
    assert!(!html.contains("<script>alert"), "it would run");
    assert!(html.contains(r"\u003cscript\u003ealert(1)\u003c!--data--\u003e"));
    assert_eq!(html.matches("</script>").count(), 2);
}

/// A flat run with one step of a spike: its picture shows it, at its place and to its height.
#[test]
fn the_pixels_hold_the_spike_and_the_letters() {
    let rows = (1..=400).map(|step| format!("{step},{}\n", if step == 200 { 4000 } else { 1000 }));
    let table: String = std::iter::once("step,memory_mb\n".to_owned())
        .chain(rows)
        .collect();
    let picture = tiny_skia::Pixmap::decode_png(&bytes("a.csv", &table, "r.png")).unwrap();
    assert_eq!((picture.width(), picture.height()), (1920, 880));
    let is_blue = |x: u32, y: u32| {
        let pixel = picture.pixel(x, y).unwrap();
        pixel.blue() > pixel.red().saturating_add(20)
    };
    // The spike is half-way along the axis; the line lies at a quarter of its height.
    let blue_above = |x: u32| (200..540).any(|y| is_blue(x, y));
    let spike: Vec<u32> = (168..1872).filter(|x| blue_above(*x)).collect();
    let (first, last) = (spike[0], spike[spike.len() - 1]);
    assert!(last - first < 20, "{first} to {last}");
    assert!((700..1100).contains(&first), "{first}");
    assert!(
        (200..260).any(|y| is_blue((first + last) / 2, y)),
        "it is cut"
    );
    let dark = |x: u32, y: u32| picture.pixel(x, y).unwrap().red() < 80;
    let headline: usize = (30..62)
        .map(|y| (40..1880).filter(|x| dark(*x, y)).count())
        .sum();
    assert!(headline > 1000, "no letters: {headline}");
}

#[test]
fn the_chart_is_a_picture_and_the_text_is_no_mark_up() {
    let svg = written("<b>&.csv", &rising(), "r.svg");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("<polyline") && svg.contains("LEAK"));
    assert!(!svg.contains("<b>") && !svg.contains("NaN"));
    let text = written("a.csv", &rising(), "r.md");
    assert!(
        text.starts_with("### LEAK") && text.contains("| rate | 10.0 MB/step"),
        "{text}"
    );
}

/// Null where nothing is called; otherwise a share, and every view that people read has it once.
#[test]
fn how_often_such_calls_are_right_is_told_with_every_call() {
    let table = |steps: usize, memory: &dyn Fn(usize) -> usize| {
        let rows = (1..=steps).map(|step| format!("{step},{}\n", memory(step)));
        format!("step,memory_mb\n{}", rows.collect::<String>())
    };
    let rises = |step: usize| 1000 + 10 * step;
    let flat = |step: usize| 1000 + step * 7 % 5;
    for (steps, memory, class, called) in [
        (STEPS, &rises as &dyn Fn(usize) -> usize, "leak", true),
        (STEPS, &flat, "stable", true),
        (30, &rises, "too-early", false),
    ] {
        let table = table(steps, memory);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.csv");
        std::fs::write(&source, &table).unwrap();
        let judged = |flags: &[&str]| {
            let mut command = Command::new(LOWTIDE);
            command.arg("judge").arg(&source);
            let done = command.args(["--epoch-steps", "40"]).args(flags).finish();
            String::from_utf8(done.stdout).unwrap()
        };
        let json: serde_json::Value = serde_json::from_str(&judged(&["--json"])).unwrap();
        assert_eq!(json["verdict"], class, "{json}");
        match json["confidence"].as_f64() {
            Some(share) => assert!(called && share > 0.0 && share < 1.0, "{share}"),
            None => assert!(!called && json["confidence"].is_null(), "{json}"),
        }
        for text in [judged(&[]), written("a.csv", &table, "r.md")] {
            let told = text.matches("% of calls like this are right").count();
            assert_eq!(told, usize::from(called), "{text}");
        }
    }
}
