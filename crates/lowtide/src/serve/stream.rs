//! Live by server-sent events: one task a run looks at its recording once a second for all who follow.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};

use super::Server;
use super::answer::Refusal;
use super::open::Open;

/// As often as a recording grows.
const EVERY: Duration = Duration::from_secs(1);

/// A stream of ticks, which ends with the run.
pub(super) async fn follow(
    server: &Server,
    open: Arc<Open>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>, Refusal> {
    let place = Arc::clone(&server.streams)
        .try_acquire_owned()
        .map_err(|_| {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open")
                .hint("close another page, or ask for /report now and then")
        })?;
    let mut news = open.ticks.subscribe();
    news.mark_changed();
    if !open.looked_at.swap(true, Ordering::SeqCst) {
        tokio::spawn(look(Arc::clone(&open)));
    }
    let stream = unfold((news, place, false), |(mut news, place, over)| async move {
        if over {
            return None;
        }
        loop {
            news.changed().await.ok()?;
            let tick = news.borrow_and_update().clone();
            if let Some(tick) = tick {
                let over = tick.state != "running";
                let event = Event::default().event("tick").json_data(&tick).ok()?;
                return Some((Ok(event), (news, place, over)));
            }
        }
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

async fn look(open: Arc<Open>) {
    loop {
        let told = Arc::clone(&open).tell();
        let somebody_left = async {
            // Nobody is told when the last one goes: it is looked for as often as news is.
            while open.ticks.receiver_count() > 0 {
                tokio::time::sleep(EVERY).await;
            }
        };
        let told = tokio::select! {
            told = told => told,
            () = somebody_left => Ok(true),
        };
        // What cannot be read now may be readable in a second.
        let goes_on = !matches!(told, Ok(false));
        if goes_on && open.ticks.receiver_count() > 0 {
            tokio::time::sleep(EVERY).await;
            continue;
        }
        open.looked_at.store(false, Ordering::SeqCst);
        // Somebody may have come while we were leaving.
        let somebody = goes_on && open.ticks.receiver_count() > 0;
        if !somebody || open.looked_at.swap(true, Ordering::SeqCst) {
            return;
        }
    }
}
