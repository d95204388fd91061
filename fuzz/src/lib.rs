//! Which of a crate's targets a fuzzing program runs.

use std::sync::OnceLock;

/// A parser of outside bytes: it panics if they make it break a promise.
pub type Target = fn(&[u8]);

/// The target that `LOWTIDE_FUZZ` names.
pub fn chosen(targets: &[(&str, Target)]) -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let wanted = std::env::var("LOWTIDE_FUZZ").unwrap_or_default();
        match targets.iter().find(|(name, _)| *name == wanted) {
            Some((_, target)) => *target,
            None => {
                let names: Vec<&str> = targets.iter().map(|(name, _)| *name).collect();
                eprintln!("error: LOWTIDE_FUZZ is one of {}", names.join(", "));
                std::process::exit(2);
            }
        }
    })
}
