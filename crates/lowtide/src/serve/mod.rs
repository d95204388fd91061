//! `lowtide serve` and `run --web`: the page, and the API behind it, over HTTP.
//!
//! Runs are read from their recordings, whoever writes them, so the server needs no way to the watchers
//! and costs them nothing. It runs on a thread of its own: the sampler never waits for a browser.
//! [`gate`] decides who may ask, `open` keeps runs that are looked at, `api` answers.

mod answer;
mod api;
mod connections;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
pub(crate) mod gate;
mod jobs;
mod losses;
mod metrics;
mod open;
mod stream;

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use lowtide_recording::Store;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::show::page::random_hex;
use connections::{Activity, Connections, Watched};
use gate::Gate;
use open::Shelf;

/// Open streams at a time, of all clients.
const STREAMS: usize = 256;
/// A client that does not say what it wants within this time is let go.
const HEADER_WITHIN: Duration = Duration::from_secs(10);
/// How often clients that sleep are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// The most that a request's line and headers may take.
const HEADER_ROOM: usize = 32 << 10;
/// Threads that read recordings: the disk is the bottleneck, not they.
const READERS: usize = 4;

/// What all requests share.
pub(crate) struct Server {
    pub store: Store,
    pub gate: Gate,
    pub shelf: Shelf,
    pub followed: metrics::Followed,
    pub streams: Arc<Semaphore>,
    pub jobs: jobs::Jobs,
    pub losses: losses::Seen,
    /// `run --web` shows its own run and nothing else.
    pub only: Option<String>,
}

impl Server {
    pub(crate) fn new(store: Store, gate: Gate, only: Option<String>) -> Server {
        Server {
            shelf: Shelf::default(),
            followed: metrics::Followed::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            jobs: jobs::Jobs::default(),
            losses: losses::Seen::default(),
            store,
            gate,
            only,
        }
    }
}

/// Loopback, and a port that is nobody's.
pub(crate) const DEFAULT: &str = "127.0.0.1:7380";

/// Shows one run while it goes on, from a thread that nobody waits for. Returns where, in words.
pub(crate) fn beside(name: &str, address: SocketAddr, open: bool) -> Result<String> {
    let store = Store::from_env()?;
    let (listener, bound) = listen(address)?;
    let token = random_hex(16)?;
    let said = format!("page: {}", link(bound, &format!("/runs/{name}"), &token));
    let gate = Gate::new(bound, token, open, &[]);
    let server = Server::new(store, gate, Some(name.to_owned()));
    std::thread::Builder::new()
        .name("web".to_owned())
        .spawn(move || serve(listener, server))
        .context("cannot start the server's thread")?;
    Ok(said)
}

/// Where a browser finds the page. What stands behind `#` is for the page alone: browsers send it to nobody,
/// and no log has it.
pub(crate) fn link(bound: SocketAddr, path: &str, token: &str) -> String {
    format!("http://{bound}{path}#token={token}")
}

/// Takes an address before anything is promised.
pub(crate) fn listen(address: SocketAddr) -> Result<(StdListener, SocketAddr)> {
    let listener =
        StdListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

/// Serves until the process ends.
pub(crate) fn serve(listener: StdListener, server: Server) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(READERS)
        .build()
        .context("cannot start the server")?;
    runtime.block_on(async { accept(TcpListener::from_std(listener)?, Arc::new(server)).await })
}

async fn accept(listener: TcpListener, server: Arc<Server>) -> Result<()> {
    let app = api::router(server);
    let mut connections = Connections::default();
    let mut swept = Instant::now();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_WITHIN)
        .max_buf_size(HEADER_ROOM);
    loop {
        let accepted = timeout(SWEEP_EVERY, listener.accept()).await;
        if swept.elapsed() >= SWEEP_EVERY {
            swept = Instant::now();
            connections.sweep(swept);
        }
        let (socket, from) = match accepted {
            Ok(Ok(accepted)) => accepted,
            // Out of file descriptors, most likely: others will end.
            Ok(Err(_)) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
            Err(_) => continue,
        };
        let _ = socket.set_nodelay(true);
        let activity = Arc::new(Activity::new());
        let app = TowerToHyperService::new(app.clone());
        let answers = Arc::clone(&activity);
        let service = service_fn(move |request| {
            let answering = answers.answers();
            let response = app.call(request);
            async move {
                let response = response.await;
                drop(answering);
                response
            }
        });
        let socket = Watched {
            inner: socket,
            activity: Arc::clone(&activity),
        };
        let connection = http.serve_connection(TokioIo::new(socket), service);
        let task = tokio::spawn(async move {
            // A client that goes away in the middle is its own business.
            let _ = connection.await;
        });
        connections.add(from.ip(), activity, task.abort_handle());
    }
}
