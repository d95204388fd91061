//! Steps and phases from what jobs print: one text per framework and per way to be misled, and any bytes at all.

use proptest::prelude::*;

use super::*;
use crate::mark::Phase;

fn marks(text: &str) -> Vec<Mark> {
    let mut reader = StepReader::new();
    let mut marks = reader.feed(text.as_bytes(), Micros(1));
    marks.extend(reader.finish(Micros(1)));
    marks
}

fn steps(text: &str) -> Vec<u64> {
    marks(text).iter().filter_map(|m| m.step).collect()
}

fn phases(text: &str) -> Vec<Phase> {
    marks(text).iter().filter_map(|m| m.phase).collect()
}

#[test]
fn a_trainer_run_with_evaluation_inside() {
    let text = "Map: 100%|██| 663/663 [00:01<00:00, 500.0 examples/s]\n\
        \r  0%|          | 0/249 [00:00<?, ?it/s]\
        \r  0%|          | 1/249 [00:02<08:00,  2.0s/it]\
        \r  1%|          | 2/249 [00:04<08:00,  2.0s/it]\
        \r                                                \
        \r{'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 2e-05, 'epoch': 0.02}\n\
        \r  1%|          | 2/249 [00:04<08:00,  2.0s/it]\n\
        \r  0%|          | 0/42 [00:00<?, ?it/s]\x1b[A\n\
        \r  5%|          | 2/42 [01:00<02:00,  1.0it/s]\x1b[A\n\
        \r{'eval_loss': 0.9, 'eval_runtime': 3.0, 'epoch': 0.02}\n\
        \r  1%|          | 3/249 [00:08<08:00,  2.0s/it]";
    assert_eq!(steps(text), [0, 1, 2, 3]);
    assert_eq!(phases(text), [Phase::Train, Phase::Eval, Phase::Train]);
    let total: Vec<_> = marks(text).iter().filter_map(|m| m.total_steps).collect();
    assert!(total.iter().all(|t| *t == 249));
}

/// With `disable_tqdm` the result is all that is printed of an evaluation.
#[test]
fn a_result_without_a_bar_is_an_evaluation() {
    let text = "{'loss': 1.0, 'epoch': 0.5, 'step': 10}\n\
        {'eval_loss': 0.9, 'eval_runtime': 3.0, 'epoch': 0.5}\n\
        {'loss': 0.8, 'epoch': 1.0, 'step': 20}\n\
        {'eval_loss': 0.7, 'eval_runtime': 3.0, 'epoch': 1.0}\n";
    assert_eq!(
        phases(text),
        [
            Phase::Train,
            Phase::Eval,
            Phase::Train,
            Phase::Eval,
            Phase::Train
        ]
    );
}

#[test]
fn the_bar_of_a_preparation_gives_way_to_training() {
    let text = "\r100%|██| 40/40 [00:01<00:00, 40.0it/s]\n\
        \r  1%|          | 1/20 [00:05<01:00,  5.0s/it]\
        \r  2%|          | 2/20 [00:10<01:00,  5.0s/it]\
        \r100%|          | 20/20 [01:40<00:00,  5.0s/it]\n\
        \r100%|          | 5/5 [00:05<00:00,  1.0s/it]\n\
        \r  1%|          | 1/20 [00:05<01:00,  5.0s/it]\n";
    assert_eq!(steps(text), [40, 1, 2, 20, 21]);
    // Nobody says what `5/5` counts: an evaluation, or a rollout.
    assert_eq!(phases(text), [Phase::Train]);
}

#[test]
fn lightning_counts_over_epochs_and_leaves_validation_aside() {
    let text = "Sanity Checking DataLoader 0: 100%|██| 2/2 [00:00<00:00, 9.0it/s]\n\
        Epoch 0:   0%|   | 0/250 [00:00<?, ?it/s]\r\
        Epoch 0:  12%|█  | 30/250 [00:03<00:22,  9.98it/s, v_num=0]\r\
        Epoch 0: 100%|███| 250/250 [00:25<00:00,  9.98it/s, v_num=0]\r\
        Validation DataLoader 0:  50%|█ | 5/10 [00:00<00:00, 99.0it/s]\r\
        Epoch 1:   4%|   | 10/250 [00:01<00:22,  9.98it/s, v_num=0]\r";
    assert_eq!(steps(text), [0, 30, 250, 260]);
    assert_eq!(
        phases(text),
        [Phase::Eval, Phase::Train, Phase::Eval, Phase::Train]
    );
    let last = marks(text).pop().unwrap();
    assert_eq!(last.epoch, Some(1.04));
    let geometry = marks(text).iter().find_map(|m| m.geometry).unwrap();
    assert_eq!(geometry.epoch_steps, Some(250.0));
}

#[test]
fn keras_epochs_are_counted_on() {
    let text = "Epoch 1/2\n 1/20 [>......] - ETA: 3s\x08\x08\x08\n20/20 [=======] - 3s 10ms/step\n\
        Epoch 2/2\n 1/20 [>......] - ETA: 3s\n";
    assert_eq!(steps(text), [1, 20, 21]);
}

#[test]
fn an_outer_bar_over_epochs_is_found_out() {
    let mut text = String::new();
    for epoch in 0..4 {
        text += &format!("\r 10%|█ | {epoch}/10 [00:10<01:00,  9.0s/it]\n");
        for step in [0, 1, 49, 50] {
            text += &format!("\r 10%|█ | {step}/50 [00:05<00:10,  9.0it/s]");
        }
        text += "\n";
    }
    let seen = steps(&text);
    assert_eq!(&seen[..3], [0, 1, 2], "nothing tells at first");
    assert!(
        seen.ends_with(&[0, 1, 49, 50]) || seen.contains(&99),
        "{seen:?}"
    );
}

#[test]
fn plain_counters_and_a_restart() {
    let text = "Step 10: 6529 tensors (1.2 GB), RAM: 5552 MB\nStep 20: 7000 tensors, RAM: 7000 MB\n\
        Traceback (most recent call last):\nStep 10: 1 tensors, RAM: 5000 MB\n";
    assert_eq!(steps(text), [10, 20, 10]);
    assert_eq!(phases(text), [Phase::Train, Phase::Start]);
}

#[test]
fn iterations_win_over_rare_step_lines() {
    let text = "step 0: train loss 4.2, val loss 4.2\niter 0: loss 4.2\niter 1: loss 4.2\n\
        iter 2: loss 4.1\niter 3: loss 4.0\nstep 4: train loss 4.0\niter 4: loss 3.9\n";
    assert_eq!(steps(text), [0, 2, 3, 4]);
}

#[test]
fn unsloths_block_gives_the_geometry() {
    let text = "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n\
        \\\\   /|    Num examples = 663 | Num Epochs = 3 | Total steps = 249\n\
        O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 4\n\
        \\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8\n";
    let geometry = marks(text).iter().rev().find_map(|m| m.geometry).unwrap();
    assert_eq!(geometry.steps_per_epoch(), Some(82.875));
    assert_eq!(geometry.world, Some(1));
}

#[test]
fn without_a_bar_the_dictionary_counts() {
    let text = "***** Running training *****\n  Num examples = 663\n  Num Epochs = 3\n\
          Instantaneous batch size per device = 2\n  Gradient Accumulation steps = 4\n\
          Total optimization steps = 249\n\
        {'loss': '1.2', 'epoch': '0.12'}\n\
        ***** Running Evaluation *****\n  Num examples = 50\n\
        {'eval_loss': '1.0', 'epoch': '1.0'}\n";
    assert_eq!(steps(text), [10, 83]);
    let geometry = marks(text).iter().rev().find_map(|m| m.geometry).unwrap();
    assert_eq!(
        geometry.examples,
        Some(663),
        "the evaluation's examples are not the run's"
    );
}

#[test]
fn a_second_reading_follows_the_counter_of_the_first() {
    let text = "\r100%|██| 40/40 [00:01<00:00, 40.0it/s]\n\
        \r  1%|          | 1/20 [00:05<01:00,  5.0s/it]\r  2%|          | 2/20 [00:10<01:00,  5.0s/it]\n";
    let mut first = StepReader::new();
    first.feed(text.as_bytes(), Micros(0));
    let counter = first.counter().unwrap().clone();
    assert_eq!(counter.to_string(), "the bar `N/20`");
    let mut second = StepReader::following(counter);
    let seen: Vec<_> = second
        .feed(text.as_bytes(), Micros(0))
        .iter()
        .filter_map(|m| m.step)
        .collect();
    assert_eq!(seen, [1, 2]);
}

fn captured(name: &str) -> String {
    let path = format!("{}/../../fixtures/logs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn a_real_trainer_run() {
    for name in ["trainer-info.log", "trainer.log"] {
        let text = captured(name);
        let seen = steps(&text);
        assert_eq!((seen[0], *seen.last().unwrap()), (0, 40), "{name}");
        assert!(seen.is_sorted(), "{name}: {seen:?}");
        let phases = phases(&text);
        assert_eq!(
            phases.iter().filter(|p| **p == Phase::Eval).count(),
            2,
            "{name}: {phases:?}"
        );
        assert_eq!(phases.last(), Some(&Phase::End));
        let geometry = marks(&text).iter().rev().find_map(|m| m.geometry).unwrap();
        assert_eq!(geometry.steps_per_epoch(), Some(20.0), "{name}");
    }
}

#[test]
fn a_real_trainer_run_without_bars() {
    let seen = steps(&captured("trainer-no-bars.log"));
    assert_eq!(seen, [10, 20, 30, 40]);
}

#[test]
fn a_real_loop_with_a_bar_per_epoch() {
    let text = captured("tqdm-epochs.log");
    let seen = steps(&text);
    assert_eq!((seen[0], *seen.last().unwrap()), (0, 75));
    assert!(seen.is_sorted(), "{seen:?}");
    let phases = phases(&text);
    assert_eq!(
        phases.iter().filter(|p| **p == Phase::Eval).count(),
        3,
        "{phases:?}"
    );
}

#[test]
fn a_real_lightning_run() {
    let text = captured("lightning.log");
    let seen = steps(&text);
    assert_eq!((seen[0], *seen.last().unwrap()), (0, 50));
    assert!(seen.is_sorted(), "{seen:?}");
    let phases = phases(&text);
    assert!(!phases.contains(&Phase::Start), "{phases:?}");
    // The check before training, and one validation per epoch.
    assert_eq!(
        phases.iter().filter(|p| **p == Phase::Eval).count(),
        3,
        "{phases:?}"
    );
}

#[test]
fn a_bar_per_epoch_that_begins_again_is_a_new_attempt() {
    let text = "Epoch 1/3: 100%|██| 25/25 [00:01<00:00, 25.0it/s]\n\
        Epoch 2/3:  20%|█ | 5/25 [00:01<00:00, 25.0it/s]\n\
        Epoch 1/3:  20%|█ | 5/25 [00:01<00:00, 25.0it/s]\n";
    assert_eq!(steps(text), [25, 30, 5]);
    assert_eq!(phases(text), [Phase::Train, Phase::Start]);
}

#[test]
fn a_real_state_file() {
    let mark = trainer_state(captured("trainer_state.json").as_bytes(), Micros(0)).unwrap();
    assert_eq!((mark.step, mark.total_steps), (Some(40), Some(40)));
    assert_eq!(mark.geometry.unwrap().epoch_steps, Some(20.0));
}

/// Pieces of real output, so that random texts reach the deep parts of the readers.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        Just(b"\r 10%|x| ".to_vec()),
        Just(b"12/240 [00:10<03:00, 1.2it/s]".to_vec()),
        Just(b"Epoch 3/10".to_vec()),
        Just(b"Step ".to_vec()),
        Just(b"\nstep 18446744073709551615 epoch 0.31\n".to_vec()),
        Just(b"\nEpoch ".to_vec()),
        Just(b"epoch 0.".to_vec()),
        Just(b"\n[3] epoch=1.".to_vec()),
        Just(b"{'loss': 1.0, 'epoch': 0.5}".to_vec()),
        Just(b"  Num examples = 663 | Total steps = 3".to_vec()),
        Just(b"Batch size per device = 18446744073709551615 | Gradient accumulation steps = 9 | Total batch size = 18".to_vec()),
        Just(b"\x1b[A".to_vec()),
        Just("━━╸ 3/9 0:00:01".as_bytes().to_vec()),
        Just(b"18446744073709551615".to_vec()),
        "[0-9]{1,4}".prop_map(String::into_bytes),
        Just(b"\n".to_vec()),
    ]
}

proptest! {
    #[test]
    fn chunks_never_change_the_marks(
        pieces in prop::collection::vec(piece(), 0..40),
        cuts in prop::collection::vec(1usize..40, 1..40),
    ) {
        let bytes: Vec<u8> = pieces.concat();
        let mut whole = StepReader::new();
        let expected = whole.feed(&bytes, Micros(0));
        let mut parts = StepReader::new();
        let mut seen = Vec::new();
        let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let cut = (*cuts.next().unwrap()).min(rest.len());
            seen.extend(parts.feed(&rest[..cut], Micros(0)));
            rest = &rest[cut..];
        }
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn any_bytes_as_a_state_file(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = trainer_state(&bytes, Micros(0));
    }
}

/// Its own lines stand in the same file where a job's errors go to one.
#[test]
fn what_lowtide_says_between_the_steps_is_no_step() {
    let mut reader = StepReader::new();
    let mut marks = Vec::new();
    for step in 1..40 {
        let said =
            "lowtide: growing, not decided: 52 kB per step; this run needs 1 GB until step 3300\n";
        let text = format!("step {step}/3300\n{said}");
        marks.extend(reader.feed(text.as_bytes(), Micros(step)));
    }
    assert!(
        marks
            .iter()
            .all(|mark| mark.step.is_none_or(|step| step < 40))
    );
    assert!(marks.iter().all(|mark| mark.phase != Some(Phase::Start)));
    assert_eq!(marks.last().and_then(|mark| mark.step), Some(39));
}
