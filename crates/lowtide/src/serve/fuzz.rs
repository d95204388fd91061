//! What `scripts/fuzz` tries on the server: what comes over a connection, and the body that starts a job.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Pair;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::Router;
use hyper::server::conn::http1;
use lowtide_core::entry::{Entry, Header};
use lowtide_core::sample::Sample;
use lowtide_recording::codec::Encoder;
use lowtide_recording::frame::{Frames, file_head};
use lowtide_recording::{FILE_NAME, Store};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

use super::{Gate, HEADER_ROOM, Server, TokioIo, TowerToHyperService, api};

/// The one run of the server.
const RUN: &str = "run";

/// Whatever a client sends and then hangs up: it is answered, and without the token nothing but reading is allowed.
pub(crate) fn requests(bytes: &[u8]) {
    static SERVER: OnceLock<(Runtime, Router)> = OnceLock::new();
    let (runtime, app) = SERVER.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        (runtime, api::router(Arc::new(server())))
    });
    let (mut client, server) = Pair::pair().expect("two sockets");
    client.write_all(bytes).expect("room for a request");
    client.shutdown(Shutdown::Write).expect("an open socket");
    let answer = runtime.block_on(async {
        let service = TowerToHyperService::new(app.clone());
        let mut http = http1::Builder::new();
        http.max_buf_size(HEADER_ROOM);
        let connection = http.serve_connection(TokioIo::new(tokio(server)), service);
        let (_, answer) = tokio::join!(connection, read_all(tokio(client)));
        answer
    });
    let fine = count(&answer, b"HTTP/1.1 2") + count(&answer, b"HTTP/1.0 2");
    let reads = count(bytes, b"GET ") + count(bytes, b"HEAD ");
    assert!(fine <= reads, "{}", String::from_utf8_lossy(&answer));
}

/// The body of a request that starts a job, up to where it would be started.
pub(crate) fn job(bytes: &[u8]) {
    super::jobs::fuzz(bytes);
}

/// With a token that nobody can guess, so that no job is started or stopped.
fn server() -> Server {
    let store = Store::at(store());
    let folder = store.runs_dir().join(RUN);
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &Default::default());
    let samples = (0..9).map(|seq| Sample {
        seq,
        ..Sample::default()
    });
    let entries = std::iter::once(Entry::Header(Header::default()))
        .chain(samples.map(Entry::Sample))
        .chain([Entry::End {
            at: Default::default(),
            exit: None,
        }]);
    for entry in entries {
        encoder.put(&mut frames, &entry).expect("a small entry");
    }
    let mut written = Vec::new();
    frames.swap_into(&mut written);
    let file = [&file_head()[..], &written].concat();
    std::fs::write(folder.join(FILE_NAME), file).expect("our own folder");
    let token = crate::show::page::random_hex(16).expect("random bytes");
    let bound = super::DEFAULT.parse().expect("an address");
    let gate = Gate::new(bound, token, false, &[]);
    Server::new(store, gate, Some(RUN.to_owned()))
}

/// Where its run is kept, for as long as this process lives; a test removes it.
pub(crate) fn store() -> PathBuf {
    std::env::temp_dir().join(format!("lowtide-fuzz-{}-store", std::process::id()))
}

fn tokio(socket: Pair) -> UnixStream {
    socket.set_nonblocking(true).expect("an open socket");
    UnixStream::from_std(socket).expect("inside the runtime")
}

async fn read_all(socket: UnixStream) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    while socket.readable().await.is_ok() {
        match socket.try_read(&mut piece) {
            Ok(0) => break,
            Ok(count) => all.extend(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    all
}

fn count(bytes: &[u8], word: &[u8]) -> usize {
    bytes
        .windows(word.len())
        .filter(|window| *window == word)
        .count()
}
