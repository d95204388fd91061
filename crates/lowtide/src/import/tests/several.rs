//! Several series in one table: columns that are all memory, and rows of several processes.

use super::*;

/// Whose series it is, and its points.
type Series = (String, Option<u32>, Vec<(f64, f64)>);

fn all(text: &str) -> Vec<Series> {
    let options = Options {
        all: true,
        ..Options::default()
    };
    let read = super::super::read_all(&mut Feed::bytes(text.as_bytes()), "x", &options);
    let read = read.unwrap_or_else(|e| panic!("{e}: {text}"));
    read.iter()
        .map(|one| (one.who.name.clone(), one.who.pid, xy(one)))
        .collect()
}

#[test]
fn every_column_of_memory_is_listed() {
    let text = "step,rss_mb,loss,train_rss_mb,mem_percent\n1,300,1,500,3\n2,310,1,500,4\n";
    let columns = vec![
        ("rss_mb".to_owned(), None, vec![(1.0, 300e6), (2.0, 310e6)]),
        (
            "train_rss_mb".to_owned(),
            None,
            vec![(1.0, 500e6), (2.0, 500e6)],
        ),
    ];
    assert_eq!(all(text), columns);
    assert!(
        refused(text, &Options::default())
            .hint
            .unwrap()
            .contains("--all")
    );
    let named = |name: &str| Options {
        name: Some(name.to_owned()),
        ..Options::default()
    };
    let chosen = read(text.as_bytes(), "x", &named("train")).unwrap();
    assert_eq!(xy(&chosen)[0].1, 500e6);
    let objects = "{\"step\":1,\"a\":{\"rss_mb\":300},\"b\":{\"rss_mb\":500}}\n{\"step\":2,\"a\":{\"rss_mb\":310},\"b\":{\"rss_mb\":500}}\n";
    assert_eq!(all(objects).len(), 2);
    let chosen = read(objects.as_bytes(), "x", &named("b.rss_mb")).unwrap();
    assert_eq!(xy(&chosen), [(1.0, 500e6), (2.0, 500e6)]);
}

#[test]
fn every_size_of_memory_in_a_log_is_listed() {
    let log: String = (1..=9)
        .map(|n| {
            format!(
                "step {n}: RAM before {} MB, RAM after {} MB, saved {n} MB\n",
                500 + n,
                600 + n
            )
        })
        .collect();
    let listed = all(&log);
    let names: Vec<_> = listed.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["ram before", "ram after"]);
    assert_eq!(listed[1].2[8], (9.0, 609e6));
    let after = Options {
        name: Some("after".to_owned()),
        ..Options::default()
    };
    assert_eq!(
        xy(&read(log.as_bytes(), "x", &after).unwrap())[0],
        (1.0, 601e6)
    );
    assert!(refused(&log, &Options::default()).hint.is_some());
}

#[test]
fn rows_of_several_processes_are_a_series_each() {
    let table: String = (1..=9)
        .map(|t| format!("{t},7,{}\n{t},8,900\n", 300 + 10 * t))
        .collect();
    let objects: String = (1..=9)
        .map(|t| {
            let row = |pid: u32, mb: u32| format!("{{\"t\":{t},\"pid\":{pid},\"rss_mb\":{mb}}}\n");
            row(7, 300 + 10 * t) + &row(8, 900)
        })
        .collect();
    for text in [format!("t,pid,rss_mb\n{table}"), objects] {
        let listed = all(&text);
        let names: Vec<_> = listed
            .iter()
            .map(|(name, pid, _)| (name.as_str(), *pid))
            .collect();
        assert_eq!(names, [("process 7", Some(7)), ("process 8", Some(8))]);
        let grows = import(&text);
        assert_eq!((grows.who.pid, xy(&grows)[0]), (Some(7), (1.0, 310e6)));
        assert!(
            grows.how.contains("of 2, the one that grows most"),
            "{}",
            grows.how
        );
        let other = Options {
            pid: Some(8),
            ..Options::default()
        };
        assert_eq!(xy(&read(text.as_bytes(), "x", &other).unwrap()).len(), 9);
    }
    let hosts = "time,host,mem_mb\n1,a,300\n1,b,300\n2,a,300\n2,b,400\n";
    assert_eq!(import(hosts).who.name, "b");
}

/// A table of more columns than anybody has is refused by what it is, at once.
#[test]
fn far_too_many_columns_are_refused() {
    let names: String = (0..400_000).map(|n| format!("c{n},")).collect();
    let row = "7,".repeat(400_000);
    let error = refused(&format!("{names}\n{row}\n{row}\n"), &Options::default());
    assert!(
        error.hint.is_some_and(|hint| hint.len() < 2000),
        "{}",
        error.message.len()
    );
    assert!(error.message.contains("columns"), "{}", error.message);
    assert!(error.message.len() < 2000);
}
