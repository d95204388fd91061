//! Waiting for what must come.

use std::time::{Duration, Instant};

/// What a condition may take on a busy machine; reached only by a test that fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until it is there.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
