//! Sizes that are not memory: each was once judged, with a verdict. What is refused says what to do, and that works
//! when pasted.

use super::*;

/// The flags that a hint offers, each way one.
fn pasted(hint: &str) -> Vec<Options> {
    let mut ways = vec![Options::default()];
    let mut words = shell_words(hint).into_iter();
    let mut any = false;
    while let Some(word) = words.next() {
        let Some(options) = ways.last_mut() else {
            break;
        };
        let mut value = || words.next().unwrap_or_default();
        match word.as_str() {
            "or" if any => ways.push(Options::default()),
            "--column" => options.column = Some(value()),
            "--unit" => options.unit = Some(value()),
            "--name" => options.name = Some(value()),
            "--limit" => options.limit = Some(64e9),
            "--axis" => options.axis = Some(Axis::Sample),
            _ => continue,
        }
        any = true;
    }
    ways.retain(|way| format!("{way:?}") != format!("{:?}", Options::default()));
    ways
}

/// Words in single quotes are one; a comma behind a flag's value is the sentence's.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            ',' | ';' if !quoted => {}
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Refused, and every way out that the hint offers leads to a series.
#[track_caller]
fn refused_with_a_way_out(text: &str) -> ImportError {
    let error = refused(text, &Options::default());
    let hint = error.hint.clone().unwrap_or_default();
    let ways = pasted(&hint);
    assert!(!ways.is_empty(), "no way out in `{hint}` of: {text}");
    for way in ways {
        if let Err(again) = read(text.as_bytes(), "x", &way) {
            panic!("{way:?} of `{hint}` is refused: {again}, {:?}", again.hint);
        }
    }
    error
}

fn repeated(line: impl Fn(u32) -> String) -> String {
    (1..=40).map(|n| line(n) + "\n").collect()
}

#[test]
fn downloads_checkpoints_and_traffic_are_no_memory() {
    for line in [
        &|n: u32| format!("saved checkpoint-{n} ({}.0 GB)", n + 1),
        &|n| format!("downloaded {} MB", 3 * n),
        &|n| format!("Step {n}: {} MB", 5000 + n),
        &|n| format!("step {n} sent {} MB, received {} MB", n, 2 * n),
        &|n| format!("wrote shard {n} of the dataset: {} MB", 12 * n),
        &|n| format!("step {n}: memory of the model: {} MB", 12 * n),
    ] as [&dyn Fn(u32) -> String; 6]
    {
        refused_with_a_way_out(&repeated(line));
    }
}

#[test]
fn bars_rates_limits_and_what_is_left_are_no_memory() {
    for line in [
        &|n: u32| {
            format!("model.safetensors:  {n}%|###   | {n}.1M/40.0M [00:{n:02}<00:10, 12.5MB/s]")
        },
        &|n| format!("memory_bank.pt:  {n}%|###   | {n}.1M/40.0M [00:{n:02}<00:10, 12.5MB/s]"),
        &|n| format!("step {n} reading at {n} MB/s"),
        &|n| format!("step {n}: MemAvailable: {} MB", 9000 - n),
        &|n| format!("step {n}: free memory {} MB", 9000 - n),
        &|n| format!("step {n}: total memory {} MB", 9000),
        &|n| format!("step {n}: memory limit {} MB", 9000),
        &|n| format!("step {n}: memory bandwidth {} GB", 900 + n),
        &|n| format!("step {n}: allocated {} tensors", 512 + n),
        &|n| format!("step {n}: image res 512, batch 4, seq {n}"),
        &|n| format!("step {n}: loss {n}.5"),
        &|n| format!("step {n}: disk usage of model files {} MB", 12 * n),
        &|n| format!("step {n} ram loss {}", 500 + n),
    ] as [&dyn Fn(u32) -> String; 13]
    {
        let error = refused(&repeated(line), &Options::default());
        assert!(error.hint.is_some(), "{}", line(1));
    }
    let left = Options {
        column: Some("free memory".to_owned()),
        ..Options::default()
    };
    let text = repeated(|n| format!("step {n}: free memory {} MB, rss {n} MB", 9000 - n));
    assert!(refused(&text, &left).message.contains("left"));
    assert_eq!(import(&text).who.name, "rss");
}

#[test]
fn a_word_for_memory_before_or_behind_makes_a_size_count() {
    for line in [
        &|n: u32| format!("step {n}: using {} MB of RAM", 500 + n),
        &|n| format!("step {n}: {} MB RAM, loss 0.3", 500 + n),
        &|n| format!("[{n}/40] mem: {}MB", 500 + n),
        &|n| format!("step {n} | model loaded | RAM {} MB", 500 + n),
        &|n| format!("step {n} rss after saving checkpoint: {} MB", 500 + n),
        &|n| format!("iter {n} mem {} loss 0.3", 500 + n),
        &|n| format!("step={n} memory_allocated={} MB", 500 + n),
        &|n| format!("Step {n}: GPU: {} MB", 500 + n),
    ] as [&dyn Fn(u32) -> String; 8]
    {
        let imported = import(&repeated(line));
        let expected: Vec<_> = (1..=40)
            .map(|n| (f64::from(n), f64::from(500 + n) * 1e6))
            .collect();
        assert_eq!(xy(&imported), expected, "{}: {}", line(1), imported.how);
    }
}

#[test]
fn columns_that_do_not_say_memory_are_refused() {
    for text in [
        "t,foo,bar\n1,2,3\n2,3,4\n",
        "Wall time,Step,Value\n1.5,1,512\n2.5,2,513\n",
        "step,download_mb\n1,300\n2,310\n",
        "step,checkpoint_gb,loss\n1,3,1\n2,4,1\n",
        "10,5434\n20,7017\n",
        "5434\n7017\n",
        "t,a_mb,b_mb\n1,2,3\n2,3,4\n",
        "step,mem_percent\n1,30.5\n2,31.5\n",
        "1,2,3\n2,3,4\n",
    ] {
        refused_with_a_way_out(text);
    }
    for text in [
        "step,mem_free_mb\n1,300\n2,290\n",
        "step,mem_free_mb,loss\n1,300,1\n2,290,1\n",
    ] {
        assert!(refused(text, &Options::default()).hint.is_some());
        let left = Options {
            column: Some("mem_free_mb".to_owned()),
            ..Options::default()
        };
        assert!(refused(text, &left).message.contains("left"), "{text}");
    }
}

/// Per cent of memory are memory, once somebody says how much 100 % is.
#[test]
fn shares_become_sizes_by_the_limit() {
    let limit = Options {
        limit: Some(64e9),
        ..Options::default()
    };
    for text in [
        "step,mem_percent\n1,50\n2,75\n",
        "step,mem\n1,50%\n2,75%\n",
        "\"Step\",\"run - system/memory\",\"run - system/memory__MIN\",\"run - system/memory__MAX\"\n\"1\",\"50\",\"49\",\"51\"\n\"2\",\"75\",\"74\",\"76\"\n",
    ] {
        let imported = read(text.as_bytes(), "x", &limit).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(xy(&imported), [(1.0, 32e9), (2.0, 48e9)], "{text}");
        refused_with_a_way_out(text);
    }
}

/// W&B writes the lowest and the highest beside each metric.
#[test]
fn lows_and_highs_beside_a_column_are_no_columns_of_their_own() {
    let text = "\"Step\",\"run - system/proc.memory.rssMB\",\"run - system/proc.memory.rssMB__MIN\",\"run - system/proc.memory.rssMB__MAX\"\n1,500,490,510\n2,501,490,510\n";
    assert_eq!(xy(&import(text)), [(1.0, 500e6), (2.0, 501e6)]);
}
