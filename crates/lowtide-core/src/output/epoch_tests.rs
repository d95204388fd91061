//! The length of an epoch and the number of steps, from output as jobs print it, and from output
//! that only looks like it.

use super::*;
use crate::mark::{Geometry, Phase};

/// The marks, which are the same when the bytes come one by one.
#[track_caller]
fn marks(text: &str) -> Vec<Mark> {
    let (mut whole, mut single) = (StepReader::new(), StepReader::new());
    let mut marks = whole.feed(text.as_bytes(), Micros(1));
    marks.extend(whole.finish(Micros(1)));
    let mut same = Vec::new();
    for byte in text.as_bytes() {
        same.extend(single.feed(&[*byte], Micros(1)));
    }
    same.extend(single.finish(Micros(1)));
    assert_eq!(marks, same, "byte by byte");
    marks
}

/// What is known after the last line, as a run folds it.
#[track_caller]
fn length(text: &str) -> Option<f64> {
    let mut geometry = Geometry::default();
    for mark in marks(text) {
        geometry.merge(&mark.geometry.unwrap_or_default());
    }
    geometry.steps_per_epoch()
}

/// Every length that was said on the way.
fn lengths(text: &str) -> Vec<f64> {
    let known = |mark: Mark| mark.geometry?.epoch_steps;
    marks(text).into_iter().filter_map(known).collect()
}

#[track_caller]
fn total(text: &str) -> Option<u64> {
    marks(text).iter().rev().find_map(|m| m.total_steps)
}

fn last_step(text: &str) -> Option<u64> {
    marks(text).iter().rev().find_map(|m| m.step)
}

#[test]
fn a_part_of_an_epoch_beside_a_step() {
    for line in [
        "step 25 epoch 0.31 loss 1.2",
        "epoch: 0.31 | step: 25",
        "{\"step\": 25, \"epoch\": 0.31, \"rss\": 7}",
        "{'loss': 1.2, 'epoch': 0.31, 'step': 25}",
        "[24] epoch=0.30\n[25] epoch=0.31",
        "iter 25: loss 3.21, epoch 0.31, time 12.3ms",
        "  10%|█ | 24/249 [00:50<08:00,  2.0s/it]\n{'loss': 1.2, 'epoch': 0.31}\n  10%|█ | 25/249 [00:50<08:00,  2.0s/it]",
    ] {
        assert_eq!(length(line), Some(25.0 / 0.31), "{line}");
    }
    let later = "step 25 epoch 0.31\nstep 50 epoch 0.61\nstep 80 epoch 0.98\n";
    assert_eq!(length(later), Some(80.0 / 0.98));
    assert_eq!(length("step 4 epoch 0.05"), None);
}

#[test]
fn a_dictionary_between_printed_steps_belongs_to_either() {
    // The step is printed before the dictionary; the next one comes much later.
    let text = "Step 10: RAM: 770 MB\n{'loss': '1.0', 'epoch': '0.12'}\n\
        Step 20: RAM: 770 MB\n{'loss': '1.0', 'epoch': '0.24'}\nStep 30: RAM: 770 MB\n";
    assert_eq!(length(text), None);
    let mut long = String::new();
    for step in (10..=2000).step_by(10) {
        long += &format!("Step {step}: RAM: 770 MB\n");
        long += &format!("{{'loss': '1.0', 'epoch': '{:.2}'}}\n", step as f64 / 83.0);
    }
    let found = length(&long).unwrap();
    assert!((found - 83.0).abs() < 1.0, "{found}");
}

#[test]
fn settings_in_any_combination() {
    for (text, steps, run) in [
        (
            "Num Epochs = 3\nTotal optimization steps = 249\n",
            83.0,
            Some(249),
        ),
        (
            "Num examples = 663 | Num Epochs = 3 | Total steps = 249\n",
            83.0,
            Some(249),
        ),
        (
            "Num examples = 663\nNum Epochs = 3\nstep 10/249 loss 1\n",
            83.0,
            Some(249),
        ),
        (
            "Num examples = 663 | Num Epochs = 3 | Total steps = 249\n\
             Batch size per device = 2 | Gradient accumulation steps = 4\n",
            82.875,
            Some(249),
        ),
        // Four processes; the order is Trainer's.
        (
            "Num examples = 1,600\nNum Epochs = 1\nInstantaneous batch size per device = 2\n\
             Total train batch size (w. parallel, distributed & accumulation) = 32\n\
             Gradient Accumulation steps = 4\nTotal optimization steps = 50\n",
            50.0,
            Some(50),
        ),
        ("Num update steps per epoch = 20\n", 20.0, None),
        // Cut by `max_steps`: the single epoch is not whole.
        (
            "Num examples = 51,760 | Num Epochs = 1 | Total steps = 60\n\
             Batch size per device = 2 | Gradient accumulation steps = 4\n",
            6470.0,
            Some(60),
        ),
        // Examples by batch without what is accumulated: the plan knows better.
        (
            "Num examples = 664 | Num Epochs = 3 | Total steps = 249\nBatch size per device = 2 | x = 1\n",
            83.0,
            Some(249),
        ),
    ] {
        assert_eq!(length(text), Some(steps), "{text}");
        assert_eq!(total(text), run, "{text}");
    }
    let cut = "Num examples = 51,760 | Num Epochs = 1 | Total steps = 60\n";
    assert_eq!(length(cut), None);
    // Any bar may be that of one epoch.
    let bar = "Num Epochs = 3\n  4%|x  | 10/249 [00:10<03:00,  1.20it/s]\n";
    assert_eq!(length(bar), None);
    let trainers = format!("{bar}{{'loss': 1.0}}\n  4%|x  | 11/249 [00:11<03:00,  1.20it/s]\n");
    assert_eq!(length(&trainers), Some(83.0));
}

#[test]
fn parts_are_never_better_than_what_is_printed() {
    let settings = "Num examples = 663 | Num Epochs = 3 | Total steps = 249\n\
        Batch size per device = 2 | Gradient accumulation steps = 4\n";
    let text = format!("{settings}step 25 epoch 0.30\nstep 50 epoch 0.60\n");
    assert_eq!(length(&text), Some(82.875));
    let wrong = format!("{settings}step 25 epoch 0.15\nstep 50 epoch 0.30\n");
    assert_eq!(length(&wrong), None, "166 steps or 83");
}

/// A loop that names its epochs on lines of their own and counts on.
fn counting_on(heading: impl Fn(u64) -> String, epochs: u64, steps: u64) -> String {
    let mut text = String::new();
    for epoch in 0..epochs {
        text += &heading(epoch);
        for step in 1..=steps {
            text += &format!("step {} loss 0.31\n", epoch * steps + step);
        }
    }
    text + &heading(epochs)
}

#[test]
fn an_epoch_that_begins_ends_the_one_before() {
    let headings: [fn(u64) -> String; 5] = [
        |epoch| format!("Epoch {}/10\n", epoch + 1),
        |epoch| format!("=== epoch {epoch} ===\n"),
        |epoch| format!("Starting epoch {}\n", epoch + 1),
        |epoch| format!("2024-01-01 10:00:00 INFO Epoch {}: lr 0.31\n", epoch + 1),
        |epoch| format!("Epoch {}.\n", epoch + 1),
    ];
    for heading in headings {
        let first = counting_on(heading, 1, 83);
        assert_eq!(length(&first), Some(83.0), "{}", heading(1));
        let open = first.strip_suffix(&heading(1)).unwrap();
        assert_eq!(length(open), None, "{}", heading(1));
        assert_eq!(lengths(&counting_on(heading, 4, 83)), [83.0]);
    }
    let same_line: String = (0..250)
        .map(|step| format!("epoch {} | step {step} | loss 1.2\n", step / 83))
        .collect();
    let found = length(&same_line).unwrap();
    assert!((found - 83.0).abs() <= 1.0, "{found}");
}

#[test]
fn a_summary_behind_each_epoch_is_read_as_well() {
    let mut text = String::new();
    for step in 1..=249 {
        text += &format!("step {step}: loss 1.2\n");
        if step % 83 == 0 {
            text += &format!("Epoch {}: val 0.31\n", step / 83);
        }
    }
    assert_eq!(length(&text), Some(83.0));
}

#[test]
fn a_counter_per_epoch_tells_its_length_at_once() {
    for (text, steps, run, step) in [
        ("Epoch 1 [10/250] loss 1\n", 250.0, None, 10),
        ("Epoch 1/3 [10/250] loss 1\n", 250.0, Some(750), 10),
        (
            "Epoch 1/3:   4%|█ | 10/250 [00:01<00:22,  9.9it/s]\n",
            250.0,
            Some(750),
            10,
        ),
        (
            "Epoch 0:   4%|█ | 10/250 [00:01<00:22,  9.9it/s, v_num=0]\n",
            250.0,
            None,
            10,
        ),
        (
            "Epoch 0/9 ━━╸━━━━ 10/250 0:00:10 • 0:01:20 3.00it/s v_num: 0\n",
            250.0,
            Some(2500),
            10,
        ),
        (
            "Epoch 1/3\n 10/250 [>......] - ETA: 3s - loss: 0.5\n",
            250.0,
            Some(750),
            10,
        ),
        (
            "Epoch 2/3\n10/250 ━━━━━━━━━━ 1s 12ms/step - loss: 0.5\n",
            250.0,
            None,
            260,
        ),
        ("Num Epochs = 3\nEpoch 2 [10/250]\n", 250.0, Some(750), 260),
        // One of ten, or of eleven?
        ("Epoch 0/10 [10/250] loss 1\n", 250.0, None, 10),
    ] {
        assert_eq!(length(text), Some(steps), "{text}");
        assert_eq!(total(text), run, "{text}");
        assert_eq!(last_step(text), Some(step), "{text}");
    }
}

#[test]
fn a_counter_under_an_epoch_is_of_the_epoch_or_of_the_run() {
    let first = "Epoch [1/5], Step [100/600], Loss: 0.5\nEpoch [1/5], Step [600/600], Loss: 0.4\n";
    assert_eq!((length(first), total(first)), (None, None));
    let second = format!("{first}Epoch [2/5], Step [100/600], Loss: 0.4\n");
    assert_eq!((length(&second), total(&second)), (Some(600.0), Some(3000)));
    assert_eq!(last_step(&second), Some(700));
    let batches = "Epoch 1/3\nbatch 125/250\nbatch 250/250\nEpoch 2/3\nbatch 125/250\n";
    assert_eq!((length(batches), total(batches)), (Some(250.0), Some(750)));
    let untold = "Epoch 1/3\nbatch 125\nbatch 250\nEpoch 2/3\nbatch 125\n";
    assert_eq!(last_step(untold), Some(375));
    assert!(!marks(untold).iter().any(|m| m.phase == Some(Phase::Start)));
    let mut on = String::from("Epoch 1/3\n");
    (1..=250).for_each(|step| on += &format!("step {step}/750\n"));
    assert_eq!((length(&on), total(&on)), (None, None));
    on += "Epoch 2/3\nstep 251/750\n";
    assert_eq!((length(&on), total(&on)), (Some(250.0), Some(750)));
}

#[test]
fn the_number_of_steps() {
    for (text, run) in [
        ("step 10/249 loss 1\n", Some(249)),
        ("Step 10 of 249: loss 1\n", Some(249)),
        ("  4%|x  | 10/249 [00:10<03:00,  1.20it/s]\n", Some(249)),
        ("step 300/249 loss 1\n", None),
        ("step 10 loss 1\n", None),
        ("step 300 loss 1\nTotal steps = 249 | x = 1\n", None),
        (
            "Num examples = 663 | Num Epochs = 3 | Total steps = 249\n\
             Batch size per device = 2 | Gradient accumulation steps = 4\n{'loss': 1.0, 'epoch': 0.12}\n",
            Some(249),
        ),
    ] {
        assert_eq!(total(text), run, "{text}");
    }
}

#[test]
fn what_only_looks_like_an_epoch() {
    for text in [
        "step 25 epoch time 0.31 s\nstep 50 epoch time 0.31 s\n",
        "step 25 epoch 0.31 s\nstep 50 epoch 0.31 s\n",
        "step 25 epoch_loss 0.31\nstep 50 epoch_loss 0.28\n",
        "step 25 lr 0.31 epoch 2\nstep 50 lr 0.31 epoch 2\n",
        "step 25 epoch 3.\nstep 50 epoch 3.\n",
        "step 25 epoch 1/10\nstep 50 epoch 1/10\n",
        "step 25 epoch 0.3\n",
        "{'loss': 1.2, 'epoch': 3, 'step': 100}\n",
        "{'loss': 1.2, 'epoch': 3.0, 'step': 100}\n",
        // Numbers of processes.
        "[0] epoch=0.31\n[1] epoch=0.31\n[0] epoch=0.32\n[1] epoch=0.32\n[2] epoch=0.33\n",
        "Epoch 1\nEpoch 2\nEpoch 3\nstep 1\nstep 2\n",
        "step 100\nbest epoch 1\nstep 200\nbest epoch 2\nstep 300\nbest epoch 3\nstep 400\n",
    ] {
        assert_eq!(length(text), None, "{text}");
        assert!(lengths(text).is_empty(), "{text}");
    }
    let processes = "[0] epoch=0.31\n[1] epoch=0.31\n[0] epoch=0.32\n[1] epoch=0.32\n";
    assert_eq!(last_step(processes), None);
}

#[test]
fn an_evaluation_has_a_total_of_its_own() {
    let keras = "Epoch 1/2\n 1/20 [>......] - ETA: 3s\n20/20 [=======] - 3s 10ms/step\n\
        1/5 [==>....] - ETA: 0s\n5/5 [=======] - 0s 1ms/step\n\
        Epoch 2/2\n 1/20 [>......] - ETA: 3s\n20/20 [=======] - 3s 10ms/step\n\
        1/20 [==>....] - ETA: 0s\n20/20 [=======] - 0s 1ms/step\n";
    assert_eq!(lengths(keras), [20.0]);
    assert_eq!((total(keras), last_step(keras)), (Some(40), Some(40)));
    let tqdm = "Epoch 1/2:  40%|█ | 10/25 [00:01<00:00, 25.0it/s]\n\
        Validation: 100%|██| 5/5 [00:00<00:00, 25.0it/s]\n\
        100%|██| 7/7 [00:00<00:00, 25.0it/s]\n";
    assert_eq!((lengths(tqdm), total(tqdm)), (vec![25.0], Some(50)));
    let plain = "step 10/249\neval step 3/50\nEval epoch 1 [3/50]\n";
    assert_eq!((length(plain), total(plain)), (None, Some(249)));
}

#[test]
fn a_resumed_run() {
    // Steps and epochs go on; the first epoch that is seen is not a whole one.
    let mut text = String::from("Resuming from epoch 3\nEpoch 3/10\n");
    (741..=750).for_each(|step| text += &format!("step {step}\n"));
    text += "Epoch 4/10\n";
    assert!(lengths(&text).is_empty());
    (751..=1000).for_each(|step| text += &format!("step {step}\n"));
    text += "Epoch 5/10\n";
    assert_eq!(length(&text), Some(250.0));
    // Steps begin anew, parts of epochs go on.
    let anew = "step 10 epoch 3.12\nstep 20 epoch 3.24\nstep 30 epoch 3.36\n";
    assert!(lengths(anew).is_empty());
    let both = "step 740 epoch 8.92\nstep 750 epoch 9.04\nstep 760 epoch 9.16\n";
    assert!((length(both).unwrap() - 83.0).abs() < 0.2);
    let rounds = "Epoch 3 [10/250]\nEpoch 3 [20/250]\n";
    assert_eq!(
        (length(rounds), last_step(rounds)),
        (Some(250.0), Some(520))
    );
}

#[test]
fn what_turns_out_wrong_is_taken_back() {
    let text = "step 10 epoch 0.55\nstep 20 epoch 0.67\nstep 30 epoch 0.79\n";
    assert_eq!(lengths(text), [10.0 / 0.55, Geometry::UNKNOWN]);
    let rounds = "Epoch 1 [250/250]\nEpoch 2 [10/90]\n";
    assert_eq!(length(rounds), None);
}

/// A loop whose only bar counts epochs has no steps, whoever says so: its name, its rate, or the job's command.
#[test]
fn a_bar_over_epochs_is_none_over_steps() {
    let bar = |label: &str, unit: &str| -> String {
        let line = |n: u64| format!("{label}  5%|▌   | {n}/40 [00:0{n}<00:41,  1.08s/{unit}]\r");
        (0..=4).map(line).collect()
    };
    let command = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let told = command("python train.py --epochs 40");
    let read = |mut reader: StepReader, text: &str| {
        let mut marks = reader.feed(text.as_bytes(), Micros(1));
        marks.extend(reader.finish(Micros(1)));
        let step = marks.iter().rev().find_map(|mark| mark.step);
        (step, marks.iter().rev().find_map(|mark| mark.epoch))
    };
    let epochs = (None, Some(4.0));
    assert_eq!(read(StepReader::new(), &bar("Epochs:", "it")), epochs);
    assert_eq!(read(StepReader::new(), &bar("", "epoch")), epochs);
    assert_eq!(read(StepReader::of_job(&told), &bar("", "it")), epochs);
    // Without any of these nobody knows, and a bar inside it counts the steps.
    assert_eq!(read(StepReader::new(), &bar("", "it")).0, Some(4));
    let other = command("python train.py --epochs 30");
    assert_eq!(read(StepReader::of_job(&other), &bar("", "it")).0, Some(4));
    let inner = format!(
        "{}  5%|▌   | 7/90 [00:01<00:41,  1.08s/it]\n",
        bar("", "it")
    );
    assert_eq!(read(StepReader::of_job(&told), &inner).0, Some(7));
    // Trainer's evaluation of as many batches as there are epochs comes after its own bar.
    let eval =
        "  1%|▌   | 7/900 [00:01<00:41,  1.08s/it]\n 50%|▌   | 20/40 [00:01<00:41,  1.08s/it]\n";
    assert_eq!(read(StepReader::of_job(&told), eval), (Some(7), None));
}
