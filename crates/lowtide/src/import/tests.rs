//! Series from tables and logs as people have them, and refusals where a text can be read in two ways.

use proptest::prelude::*;

use lowtide_core::verdict::Meter;

use super::*;

mod refusals;
mod several;

fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    super::read(&mut Feed::bytes(bytes), name, options)
}

fn import(text: &str) -> Imported {
    read(text.as_bytes(), "x", &Options::default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn refused(text: &str, options: &Options) -> ImportError {
    match read(text.as_bytes(), "x", options) {
        Ok(imported) => panic!("read as {}", imported.how),
        Err(error) => error,
    }
}

fn xy(imported: &Imported) -> Vec<(f64, f64)> {
    imported
        .track
        .points
        .iter()
        .map(|p| (p.x, p.bytes))
        .collect()
}

fn captured(name: &str) -> Imported {
    let path = format!("{}/../../fixtures/logs/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    read(&bytes, name, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn tables_with_any_sensible_header() {
    for (text, axis, points) in [
        (
            "t,value_mb\n10,5434\n20,7017\n",
            Axis::Time,
            [(10.0, 5434e6), (20.0, 7017e6)],
        ),
        (
            "step,MB\n10,5434\n20,7017\n",
            Axis::Step,
            [(10.0, 5434e6), (20.0, 7017e6)],
        ),
        (
            "time_s,rss_bytes\n1,4096\n2,8192\n",
            Axis::Time,
            [(1.0, 4096.0), (2.0, 8192.0)],
        ),
        (
            "timestamp,rss_kb\n1700000000,10\n1700000060,20\n",
            Axis::Time,
            [(0.0, 10e3), (60.0, 20e3)],
        ),
        (
            "timestamp,rss_kb\n1700000000000,10\n1700000060000,20\n",
            Axis::Time,
            [(0.0, 10e3), (60.0, 20e3)],
        ),
        (
            "time,mem_gb\n2026-11-15T10:00:00Z,1.5\n2026-11-15T10:01:00Z,2\n",
            Axis::Time,
            [(0.0, 1.5e9), (60.0, 2e9)],
        ),
        (
            "step;RAM (GB)\n1;1,5\n2;2,5\n",
            Axis::Step,
            [(1.0, 1.5e9), (2.0, 2.5e9)],
        ),
        (
            "iteration\trss_mib\n1\t1\n2\t2\n",
            Axis::Step,
            [(1.0, 1_048_576.0), (2.0, 2_097_152.0)],
        ),
        (
            "epoch,loss,rss_mb,cpu\n1,0.5,300,90\n2,0.4,310,91\n",
            Axis::Step,
            [(1.0, 300e6), (2.0, 310e6)],
        ),
        (
            "time_min,gpu_mb,rss_mb\n1,900,300\n2,900,310\n",
            Axis::Time,
            [(60.0, 300e6), (120.0, 310e6)],
        ),
        (
            "# made by hand\nstep,memory\n1,5.4 GB\n2,\"5,500 MB\"\n",
            Axis::Step,
            [(1.0, 5.4e9), (2.0, 5.5e9)],
        ),
        (
            "step rss_mb\n1 300\n2 310\n",
            Axis::Step,
            [(1.0, 300e6), (2.0, 310e6)],
        ),
        (
            "{\"step\": 1, \"mem\": {\"rss_mb\": 300}}\n{\"event\": \"x\"}\n{\"step\": 2, \"mem\": {\"rss_mb\": 310}}\n",
            Axis::Step,
            [(1.0, 300e6), (2.0, 310e6)],
        ),
        (
            "[{\"time_s\": 1, \"rss\": 8192000}, {\"time_s\": 2, \"rss\": 12288000}]",
            Axis::Time,
            [(1.0, 8_192_000.0), (2.0, 12_288_000.0)],
        ),
    ] {
        let imported = import(text);
        assert_eq!(imported.track.axis, axis, "{text}");
        assert_eq!(xy(&imported), points, "{text}");
    }
}

#[test]
fn one_column_is_an_order() {
    let imported = import("rss_kb\n412340\n412344\n412348\n");
    assert_eq!(imported.track.axis, Axis::Sample);
    assert_eq!(xy(&imported)[1], (1.0, 412_344e3));
}

#[test]
fn flags_about_steps_make_a_bare_axis_steps() {
    let text = b"t,value_mb\n10,5434\n20,7017\n";
    let expected = Options {
        steps_expected: true,
        ..Options::default()
    };
    assert_eq!(read(text, "x", &expected).unwrap().track.axis, Axis::Step);
    let asked = Options {
        axis: Some(Axis::Sample),
        ..Options::default()
    };
    assert_eq!(xy(&read(text, "x", &asked).unwrap())[1].0, 1.0);
}

#[test]
fn what_is_ambiguous_is_refused_with_a_hint() {
    let default = Options::default();
    let hint = |text: &str| refused(text, &default).hint.unwrap_or_default();
    assert!(hint("t,a_mb,b_mb\n1,2,3\n2,3,4\n").contains("--column 'a_mb'"));
    assert!(
        hint("t,foo,bar\n1,2,3\n2,3,4\n").contains("--column 'foo' --unit MB or --column 'bar'")
    );
    assert!(hint("t,mem\n1,2.5\n2,3.5\n").contains("--unit"));
    assert!(hint("1,2,3\n2,3,4\n").contains("--column 2"));
    assert!(
        hint("RAM before: 5 MB\nRAM after: 6 MB\nRAM before: 6 MB\nRAM after: 7 MB\n")
            .contains("--column")
    );
    assert!(hint("hello\nworld\n").contains("Step 10"));
    let column = Options {
        column: Some("b_mb".into()),
        ..Options::default()
    };
    let chosen = read(b"t,a_mb,b_mb\n1,2,3\n2,3,4\n", "x", &column).unwrap();
    assert_eq!(xy(&chosen)[0], (1.0, 3e6));
    let column = Options {
        column: Some("RAM after".into()),
        ..Options::default()
    };
    let chosen = read(
        b"RAM before: 5 MB\nRAM after: 6 MB\nRAM before: 6 MB\nRAM after: 7 MB\n",
        "x",
        &column,
    )
    .unwrap();
    assert_eq!(xy(&chosen), [(0.0, 6e6), (1.0, 7e6)]);
}

#[test]
fn binary_and_empty_files_are_no_logs() {
    for bytes in [
        &b""[..],
        b" \n",
        b"\x00\x01\x02",
        b"\x1f\x8b\x08",
        b"PAR1abc",
        b"Step 1: RAM 5 MB\n\x00",
    ] {
        assert!(read(bytes, "x", &Options::default()).is_err(), "{bytes:?}");
    }
}

#[test]
fn logs_as_people_print_them() {
    for (text, axis, meter, points) in [
        (
            "loading\nStep 10: 6529 tensors (12.1 GB), RAM: 5552 MB\nStep 20: 6530 tensors (12.2 GB), RAM: 7,017 MB\nStep 30: 1 tensors (12.2 GB), RAM: 8 GB\n",
            Axis::Step,
            Meter::Memory,
            vec![(10.0, 5552e6), (20.0, 7017e6), (30.0, 8e9)],
        ),
        (
            "{'loss': 1.2, 'epoch': 0.5}\nMemory usage: 5.4 GB\n{'loss': 1.1, 'epoch': 1.0}\nMemory usage: 5.5 GB\n",
            Axis::Sample,
            Meter::Memory,
            vec![(0.0, 5.4e9), (1.0, 5.5e9)],
        ),
        (
            "iter 1 gpu mem 900 MB rss=8192000\niter 2 gpu mem 900 MB rss=12288000\n",
            Axis::Step,
            Meter::Rss,
            vec![(1.0, 8_192_000.0), (2.0, 12_288_000.0)],
        ),
        (
            "step 1: cuda:0 memory 5 GB\nstep 2: cuda:0 memory 6 GB\n",
            Axis::Step,
            Meter::Gpu,
            vec![(1.0, 5e9), (2.0, 6e9)],
        ),
        (
            "10:00:00 VmRSS: 1000 kB\n10:00:10 VmRSS: 2000 kB\n",
            Axis::Time,
            Meter::Rss,
            vec![(0.0, 1_024_000.0), (10.0, 2_048_000.0)],
        ),
        (
            "23:59:50 RAM: 5 GB\n00:00:10 RAM: 6 GB\n",
            Axis::Time,
            Meter::Memory,
            vec![(0.0, 5e9), (20.0, 6e9)],
        ),
        (
            "RAM used 5.1/32 GB\nRAM used 5.2/32 GB\n",
            Axis::Sample,
            Meter::Memory,
            vec![(0.0, 5.1e9), (1.0, 5.2e9)],
        ),
    ] {
        let imported = import(text);
        assert_eq!(
            (imported.track.axis, imported.track.meter),
            (axis, meter),
            "{text}{}",
            imported.how
        );
        assert_eq!(xy(&imported), points, "{text}{}", imported.how);
    }
}

#[test]
fn parts_of_an_epoch_become_steps_when_its_length_is_known() {
    let log = "{'loss': 1.2, 'epoch': 0.25}\nMemory usage: 5.4 GB\n{'loss': 1.1, 'epoch': 0.5}\nMemory usage: 5.5 GB\n";
    let options = Options {
        epoch_steps: Some(80.0),
        ..Options::default()
    };
    let imported = read(log.as_bytes(), "train.log", &options).unwrap();
    assert_eq!(imported.track.axis, Axis::Step);
    assert_eq!(xy(&imported), vec![(20.0, 5.4e9), (40.0, 5.5e9)]);
}

#[test]
fn it_says_how_it_was_read() {
    assert_eq!(
        import("hello\nStep 10: 1 tensors, RAM: 5552 MB\nStep 20: 2 tensors, RAM: 5600 MB\nbye\n")
            .how,
        "2 points: steps from `Step N`, sizes from `ram …`, 2 lines skipped"
    );
    assert_eq!(
        import("step,MB,x\n10,5434,a\n20,7017,b\n30,,c\n").how,
        "2 points: steps from column `step`, sizes from column `MB` in MB, 1 line skipped"
    );
}

#[test]
fn a_restarted_run_is_read_from_its_last_attempt() {
    let imported = import(
        "Step 10: RAM 5 GB\nStep 20: RAM 9 GB\nTraceback (most recent call last):\nStep 10: RAM 5 GB\nStep 20: RAM 6 GB\nStep 30: RAM 7 GB\n",
    );
    assert_eq!(
        xy(&imported),
        [(10.0, 5e9), (20.0, 6e9), (30.0, 7e9)],
        "{}",
        imported.how
    );
}

#[test]
fn captured_files_are_read() {
    for (name, axis, meter, count) in [
        ("free-m.log", Axis::Sample, Meter::Memory, 5),
        ("logging-gb.log", Axis::Time, Meter::Memory, 12),
        ("psutil-pmem.log", Axis::Step, Meter::Rss, 10),
        ("mprof.dat", Axis::Time, Meter::Rss, 0),
        ("psrecord.txt", Axis::Time, Meter::Rss, 0),
        ("psrecord.csv", Axis::Time, Meter::Rss, 0),
        ("tqdm-epochs.log", Axis::Step, Meter::Rss, 15),
        ("trainer.log", Axis::Step, Meter::Memory, 4),
        ("trainer-info.log", Axis::Step, Meter::Memory, 4),
        ("trainer-no-bars.log", Axis::Step, Meter::Memory, 4),
    ] {
        let imported = captured(name);
        assert_eq!(
            (imported.track.axis, imported.track.meter),
            (axis, meter),
            "{name}: {}",
            imported.how
        );
        let points = xy(&imported);
        assert!(
            if count > 0 {
                points.len() == count
            } else {
                points.len() > 3
            },
            "{name}: {}",
            imported.how
        );
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0), "{name}: {points:?}");
        assert!(
            points.iter().all(|p| (1e6..1e11).contains(&p.1)),
            "{name}: {points:?}"
        );
    }
    let trainer = captured("trainer-info.log");
    assert_eq!(
        xy(&trainer).iter().map(|p| p.0).collect::<Vec<_>>(),
        [10.0, 20.0, 30.0, 40.0]
    );
    assert_eq!(trainer.geometry.unwrap().steps_per_epoch(), Some(20.0));
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,8}",
        "[0-9.,:;|/ -]{1,12}",
        Just("\n".to_owned()),
        Just("step,MB\n".to_owned()),
        Just("MEM 1 2\n".to_owned()),
        Just("CHLD 1 ".to_owned()),
        Just("{\"step\": 1, \"rss\": 5}\n".to_owned()),
        Just("[{\"a\":".to_owned()),
        Just("# Elapsed time   CPU (%)     Real (MB)\n".to_owned()),
        Just("Mem: 1 2 3 ".to_owned()),
        Just("Step 10: RAM: 5,552 MB\n".to_owned()),
        Just("2026-11-15T10:00:00Z".to_owned()),
        Just("\"".to_owned()),
        Just(" GB / ".to_owned()),
    ]
}

proptest! {
    #[test]
    fn no_text_breaks_the_readers(pieces in prop::collection::vec(piece(), 0..30), column in proptest::option::of("[a-z0-9]{1,3}")) {
        let options = Options { column, ..Options::default() };
        if let Ok(imported) = read(pieces.concat().as_bytes(), "x", &options) {
            prop_assert!(!imported.track.points.is_empty());
            prop_assert!(imported.track.points.iter().all(|p| p.x.is_finite() && p.bytes.is_finite()));
        }
    }

    #[test]
    fn no_bytes_break_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, "x", &Options::default());
    }
}

/// Gives a text a few bytes at a time, as pipes do.
struct Pieces<'a> {
    rest: &'a [u8],
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let wanted = self.sizes.next().unwrap_or(1).min(out.len());
        let (now, rest) = self.rest.split_at(wanted.min(self.rest.len()));
        out[..now.len()].copy_from_slice(now);
        self.rest = rest;
        Ok(now.len())
    }
}

fn in_pieces(bytes: &[u8], sizes: Vec<usize>) -> Result<Imported, ImportError> {
    let sizes = sizes.into_iter().cycle();
    let mut feed = Feed::stream(Pieces { rest: bytes, sizes }).unwrap();
    super::read(&mut feed, "x", &Options::default())
}

#[track_caller]
fn same(whole: Result<Imported, ImportError>, pieces: Result<Imported, ImportError>) {
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole.how, pieces.how);
            assert_eq!(whole.track, pieces.track);
            assert_eq!(whole.geometry, pieces.geometry);
            assert_eq!(whole.total_steps, pieces.total_steps);
        }
        (whole, pieces) => assert_eq!(whole.err(), pieces.err()),
    }
}

#[test]
fn captured_files_are_read_alike_whole_and_in_pieces() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/logs");
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let bytes = std::fs::read(file.path()).unwrap();
        let whole = || read(&bytes, "x", &Options::default());
        same(whole(), in_pieces(&bytes, vec![4096]));
        same(whole(), in_pieces(&bytes, vec![1, 7, 100_000]));
    }
}

proptest! {
    #[test]
    fn pieces_of_any_size_are_read_as_the_whole(
        pieces in prop::collection::vec(piece(), 0..30),
        sizes in prop::collection::vec(1usize..40, 1..5),
    ) {
        let text = pieces.concat();
        let whole = read(text.as_bytes(), "x", &Options::default());
        same(whole, in_pieces(text.as_bytes(), sizes));
    }
}

/// Lines that a reader of every number with all the words before it would need hours for.
#[test]
fn many_numbers_and_many_columns_take_no_longer_than_their_bytes() {
    let array: String = (0..2000).map(|n| format!("{n}.5, ")).collect();
    let log: String = (0..400)
        .map(|step| format!("step {step}: RAM {} MB\nweights [{array}]\n", 1000 + step))
        .collect();
    let imported = import(&log);
    assert_eq!(imported.track.points.len(), 400);
    let row = |first: &str| format!("{first}{}\n", ",7".repeat(12_000));
    let names: String = (0..12_000).map(|n| format!(",loss{n}")).collect();
    let table: String = (0..200)
        .map(|step| row(&format!("{step},{}", 500 + step)))
        .collect();
    let imported = import(&format!("step,rss_mb{names}\n{table}"));
    assert_eq!(imported.track.points.len(), 200);
    let objects: String = (0..100)
        .map(|step| {
            let fields: String = (0..12_000).map(|n| format!(",\"loss{n}\":7")).collect();
            format!("{{\"step\":{step},\"rss_mb\":{}{fields}}}\n", 500 + step)
        })
        .collect();
    assert_eq!(import(&objects).track.points.len(), 100);
}

#[test]
fn a_clock_that_goes_back_is_said_or_refused() {
    let rows = |times: &mut dyn Iterator<Item = i32>| -> String {
        let rows = times.enumerate();
        let rows = rows.map(|(nth, t)| format!("{t},{}\n", 1000 + 10 * nth));
        "time_s,rss_mb\n".to_owned() + &rows.collect::<String>()
    };
    // Steady growth, in times that go on from half an hour ago: sorted, it was a flat saw.
    let set_back = rows(&mut (0..100).chain(50..250));
    assert!(refused(&set_back, &Options::default()).hint.is_some());
    let ordered = Options {
        axis: Some(Axis::Sample),
        ..Options::default()
    };
    assert!(read(set_back.as_bytes(), "x", &ordered).is_ok());
    let restarted = import(&rows(&mut (0..100).chain(0..200)));
    assert_eq!(restarted.track.points.len(), 200);
    assert!(
        restarted.how.contains("the last of 2 attempts"),
        "{}",
        restarted.how
    );
    let log = |times: &mut dyn Iterator<Item = u32>| -> String {
        let clock = |t: u32| {
            format!(
                "2026-11-15 {:02}:{:02}:{:02}",
                10 + t / 3600,
                t / 60 % 60,
                t % 60
            )
        };
        let lines = times.enumerate();
        let lines = lines.map(|(nth, t)| format!("{} RAM {} MB\n", clock(t), 1000 + 10 * nth));
        lines.collect()
    };
    let set_back = log(&mut (0..1000).step_by(10).chain((500..3000).step_by(10)));
    assert!(
        refused(&set_back, &Options::default())
            .message
            .contains("go back")
    );
    assert!(
        !import(&log(&mut (0..1000).step_by(10)))
            .how
            .contains("back")
    );
}
