//! `lowtide serve` by the real binary: what is answered, and what is refused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use described::Description;
use lowtide_core::entry::{Attempt, Entry, EventKind, Exit, Header};
use lowtide_core::followed::{Followed, FollowedHolder, HolderReading, Lengths};
use lowtide_core::look::{
    self, Breakdown, By, Examiner, HeldGroup, Look, LookWhy, Part, PythonHeap, PythonVersion,
    Unaccounted,
};
use lowtide_core::mark::{Geometry, LoopObject, Mark, MarkSource, Phase};
use lowtide_core::postmortem::{Cause, Holder, PostMortem, Victim};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{Limit, LimitFrom, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::FILE_NAME;
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};
use lowtide_testing::{PATIENCE, Started, Starts, until};
use serde_json::{Value, json};

#[path = "common/described.rs"]
mod described;
#[path = "common/leaving.rs"]
mod leaving;

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");

struct Server {
    child: Started,
    address: String,
    token: String,
    home: tempfile::TempDir,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

impl Server {
    fn start(flags: &[&str]) -> Server {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(LOWTIDE);
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(flags);
        command
            .env("LOWTIDE_HOME", home.path())
            .stderr(Stdio::piped());
        let mut child = command.start();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut after = |word: &str| loop {
            let line = said.next().unwrap().unwrap();
            if let Some((_, rest)) = line.split_once(word) {
                return rest.to_owned();
            }
        };
        let (link, token) = (after("http://"), after("token: "));
        let (address, given) = link.split_once("/#token=").unwrap();
        assert!(token == given || token.starts_with("in "), "{link}");
        let (address, token) = (address.to_owned(), given.to_owned());
        Server {
            child,
            address,
            token,
            home,
        }
    }

    /// Sends these very bytes and reads to the end.
    fn raw(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0);
        Answer {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.raw(&format!(
            "{request}content-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// As one who has the token.
    fn get(&self, path: &str) -> Answer {
        let token = format!("Bearer {}", self.token);
        self.ask("GET", path, &[("authorization", &token)], "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let token = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
        ];
        self.ask("POST", path, &headers, &body.to_string())
    }
}

#[test]
fn a_job_is_started_followed_and_stopped() {
    let server = Server::start(&[]);
    let script = "echo hello; exec sleep 300";
    let started = server.post("/api/v1/runs", &json!({"command": ["sh", "-c", script]}));
    assert_eq!(started.status, 201, "{}", started.body);
    let name = started.json()["name"].as_str().unwrap().to_owned();
    let run = format!("/api/v1/runs/{name}");
    assert!(started.head.contains(&format!("location: {run}")));
    until("samples", || {
        let line = server.get(&format!("{run}/series?who=tree&meter=held"));
        (line.status == 200 && line.json()["x"].as_array()?.len() > 1).then_some(())
    });
    for nowhere in ["who=nobody", "meter=nothing", "meter="] {
        assert_eq!(server.get(&format!("{run}/series?{nowhere}")).status, 404);
    }
    for what in ["series", "stack"] {
        assert_eq!(server.get(&format!("{run}/{what}?from=2&to=1")).status, 422);
    }
    assert_eq!(server.get(&run).json()["state"], "running");
    assert!(
        server
            .get("/metrics")
            .body
            .contains(&format!("lowtide_verdict{{run=\"{name}\""))
    );
    let stopped = server.post(&format!("{run}/stop"), &json!(null));
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    // The stream ends with the run, so reading it to its end shows its last tick.
    let stream = server.get(&format!("{run}/stream"));
    assert!(stream.head.contains("text/event-stream"));
    assert!(
        stream.body.contains("event: tick") && stream.body.contains(r#""state":"ended""#),
        "{}",
        stream.body
    );
    assert_eq!(server.get(&run).json()["exit"], 143);
    let output = server
        .home
        .path()
        .join("runs")
        .join(&name)
        .join("output.log");
    assert!(std::fs::read_to_string(output).unwrap().contains("hello"));
    assert_eq!(
        server.post(&format!("{run}/stop"), &json!(null)).status,
        409
    );
    for (part, kind) in [
        ("report", "json"),
        ("verdict", "json"),
        ("explanation", "json"),
        ("events", "json"),
        ("lines", "json"),
        ("stack?columns=9", "json"),
        ("report.html", "text/html"),
        ("download", "octet-stream"),
    ] {
        let answer = server.get(&format!("{run}/{part}"));
        assert_eq!(answer.status, 200, "{part}: {}", answer.body);
        assert!(answer.head.contains(kind), "{part}");
    }
}

#[test]
fn a_job_that_cannot_start_leaves_nothing_behind() {
    let server = Server::start(&[]);
    let refused = server.post("/api/v1/runs", &json!({"command": ["/no/such/program"]}));
    assert_eq!(refused.status, 422, "{}", refused.body);
    for bad in [
        json!({}),
        json!({"command": []}),
        json!({"command": [""]}),
        json!({"command": "ls"}),
        json!({"command": ["a\u{0}b"]}),
        json!({"command": ["ls"], "cwd": "relative"}),
        json!({"command": ["ls"], "shell": true}),
        json!({"command": ["ls"], "env": {"A=B": "c"}}),
        json!({"command": ["ls"], "limit": "much"}),
    ] {
        let answer = server.post("/api/v1/runs", &bad);
        assert!(
            (400..500).contains(&answer.status),
            "{bad}: {} {}",
            answer.status,
            answer.body
        );
    }
    assert_eq!(server.get("/api/v1/runs").json()["runs"], json!([]));
    let left: Vec<_> = std::fs::read_dir(server.home.path())
        .unwrap()
        .flatten()
        .map(|f| f.file_name())
        .collect();
    assert_eq!(left, ["runs"]);
}

#[test]
fn strangers_are_refused() {
    let server = Server::start(&[]);
    let run = r#"{"command": ["true"]}"#;
    let json = ("content-type", "application/json");
    assert_eq!(server.get("/").status, 200);
    assert_eq!(
        server
            .ask("GET", "/", &[("host", "evil.example")], "")
            .status,
        403
    );
    assert_eq!(
        server
            .raw("GET / HTTP/1.1\r\nconnection: close\r\n\r\n")
            .status,
        403
    );
    assert_eq!(server.ask("POST", "/api/v1/runs", &[json], run).status, 401);
    assert_eq!(
        server
            .ask(
                "POST",
                "/api/v1/runs",
                &[json, ("authorization", "Bearer wrong")],
                run
            )
            .status,
        401
    );
    let right = format!("Bearer {}", server.token);
    let foreign = [
        json,
        ("authorization", right.as_str()),
        ("origin", "http://evil.example"),
    ];
    assert_eq!(
        server.ask("POST", "/api/v1/runs", &foreign, run).status,
        403
    );
    // A form of another page can send text, but no JSON.
    let form = [
        ("authorization", right.as_str()),
        ("content-type", "text/plain"),
    ];
    assert_eq!(server.ask("POST", "/api/v1/runs", &form, run).status, 415);
    let huge = format!("{{\"command\": [\"{}\"]}}", "x".repeat(1 << 20));
    assert_eq!(
        server
            .ask(
                "POST",
                "/api/v1/runs",
                &[json, ("authorization", &right)],
                &huge
            )
            .status,
        413
    );
    let wide = format!(
        "GET / HTTP/1.1\r\nhost: {}\r\nx: {}\r\n\r\n",
        server.address,
        "y".repeat(1 << 20)
    );
    assert!(matches!(server.raw(&wide).status, 431 | 0));
    for path in [
        "/api/v1/runs/..%2f..%2fetc%2fpasswd/download",
        "/api/v1/runs/%2e%2e/download",
        "/api/v1/runs/../../etc/passwd",
        "/api/v1/runs/%00/verdict",
        "/api/v1/runs/.hidden/report",
        "/../../etc/passwd",
    ] {
        assert!(matches!(server.get(path).status, 400 | 404), "{path}");
    }
    assert_eq!(
        server
            .ask("DELETE", "/api/v1/runs", &[("authorization", &right)], "")
            .status,
        405
    );
    let page = server.get("/runs/anything");
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "frame-ancestors 'none'",
    ] {
        assert!(page.head.contains(header), "{header}");
    }
}

#[test]
fn a_server_shows_nothing_without_its_token_unless_it_was_opened() {
    for (flags, without) in [(&[][..], 401), (&["--private"], 401), (&["--open"], 200)] {
        let server = Server::start(flags);
        assert_eq!(server.ask("GET", "/", &[], "").status, 200);
        for path in ["/api/v1/runs", "/metrics", "/api/v1/openapi.json"] {
            assert_eq!(server.ask("GET", path, &[], "").status, without, "{path}");
            assert_eq!(server.get(path).status, 200, "{path}");
        }
        let job = json!({"command": ["true"]}).to_string();
        let kind = ("content-type", "application/json");
        assert_eq!(
            server.ask("POST", "/api/v1/runs", &[kind], &job).status,
            401
        );
    }
    let refused = Command::new(LOWTIDE)
        .args(["serve", "--open", "--listen", "0.0.0.0:0"])
        .finish();
    assert_eq!(refused.status.code(), Some(2));
}

/// More than the server holds, each asking for more than the kernel buffers, and none reading.
#[test]
fn clients_that_never_read_or_never_finish_asking_keep_nobody_out() {
    let server = Server::start(&[]);
    let ask = format!("GET /app.js HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    let floods = [ask.repeat(100), ask[..20].to_owned(), String::new()];
    for flood in floods {
        let sleepers: Vec<TcpStream> = (0..540)
            .map(|_| {
                let mut stream = TcpStream::connect(&server.address).unwrap();
                // A server that is full takes none of it, and one that lets go closes it.
                stream.set_nonblocking(true).unwrap();
                let _ = stream.write(flood.as_bytes());
                stream
            })
            .collect();
        for _ in 0..3 {
            assert_eq!(server.get("/api/v1/runs").status, 200, "{}", flood.len());
        }
        drop(sleepers);
    }
    // A stream that is read goes on beside them, and one that says nothing is let go.
    let mut silent = TcpStream::connect(&server.address).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    silent.write_all(b"GET / HTTP/1.1\r\nx: ").unwrap();
    assert!(
        silent.read_to_end(&mut Vec::new()).is_ok(),
        "it was not let go"
    );
}

#[test]
fn a_token_that_others_can_read_or_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("token");
    let path = file.to_str().unwrap();
    // It is made for its owner alone, and taken again.
    let first = Server::start(&["--token-file", path]);
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    let second = Server::start(&["--token-file", path]);
    assert_eq!(first.token, second.token);
    let serve = || {
        let mut command = Command::new(LOWTIDE);
        command.args(["serve", "--listen", "127.0.0.1:0", "--token-file", path]);
        command.env("LOWTIDE_HOME", home.path()).finish()
    };
    let refused = |what: &str| {
        let output = serve();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains(what) && said.contains("hint: "), "{said}");
    };
    for bits in [0o666, 0o644, 0o622, 0o640] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(bits)).unwrap();
        refused("others may read or write it");
    }
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
        refused("another user");
    }
    std::fs::remove_file(&file).unwrap();
    Command::new("mkfifo")
        .arg("-m")
        .arg("600")
        .arg(&file)
        .ends();
    refused("no file");
    // Folders that it makes are its owner's.
    first.post("/api/v1/runs", &json!({"command": ["true"]}));
    assert_eq!(mode(&first.home.path().join("runs")), 0o700);
}

#[test]
fn all_that_is_described_is_there() {
    let server = Server::start(&[]);
    let described = server.get("/api/v1/openapi.json").json();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let answer = server.ask(
                &method.to_uppercase(),
                &path.replace("{name}", "nobody"),
                &[],
                "",
            );
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(
                !answer.body.contains("nothing at this address"),
                "{method} {path}"
            );
            let known = &described["paths"][path][method]["responses"][answer.status.to_string()];
            assert!(
                known.is_object(),
                "{method} {path} answers {}",
                answer.status
            );
        }
    }
}

fn limit(used: u64) -> Limit {
    Limit {
        bytes: Bytes(1_000_000_000),
        used: Bytes(used),
        from: LimitFrom::Cgroup("/job".to_owned()),
    }
}

/// A run that grows by 2 MB a step, with epochs of 50 steps, and was not seen to end.
fn growing(steps: u64, total_steps: Option<u64>) -> Vec<Entry> {
    let id = ProcId { pid: 7, start: 1 };
    let second = |n: u64| Micros(n * 1_000_000);
    let mut entries = vec![
        Entry::Header(Header {
            name: "killed".to_owned(),
            started: Micros(1_790_000_000_000_000),
            ..Header::default()
        }),
        Entry::Member(Member {
            id,
            parent: None,
            facts: Facts::default(),
            role: Role::Trainer,
            why: "the only one".to_owned(),
        }),
        Entry::Watch {
            at: second(0),
            id,
            why: "the only one".to_owned(),
        },
    ];
    for n in 1..=steps {
        let held = 100_000_000 + n * 2_000_000;
        entries.push(Entry::Mark(Mark {
            at: second(n),
            source: MarkSource::Callback,
            step: Some(n),
            total_steps,
            epoch: Some(n as f64 / 50.0),
            phase: Some(if n % 50 < 5 {
                Phase::Eval
            } else {
                Phase::Train
            }),
            geometry: Some(Geometry {
                epoch_steps: Some(50.0),
                ..Geometry::default()
            }),
            ..Mark::default()
        }));
        entries.push(Entry::Sample(Sample {
            seq: n,
            at: second(n),
            readings: vec![Reading {
                anon: Bytes(held),
                vsize: Bytes(held),
                peak: Bytes(held),
                threads: 1,
                objects: Some(48_000 + 30 * n),
                collections: Some([70 * n, 7 * n, n / 10]),
                ..Reading::of(id)
            }],
            limit: Some(limit(held)),
            tree: TreeSum {
                held: Bytes(held),
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
        if n == 10 || n + 5 == steps {
            entries.push(Entry::Look(census(id, second(n), n)));
            entries.push(Entry::Followed(followed(id, second(n))));
        }
        if n > 10 {
            let slots = HolderReading {
                filled: Some(n),
                ..reading(1000)
            };
            entries.push(Entry::Lengths(Lengths {
                at: second(n),
                id,
                list: 1,
                readings: vec![Some(reading(n)), Some(slots)],
            }));
        }
    }
    entries
}

/// All objects of a job that keeps 2 MB a step in one list.
fn census(id: ProcId, at: Micros, step: u64) -> Look {
    let bytes = Bytes(step * 2_000_000);
    let part = Part::new("bytes", Some(step), Some(bytes));
    let holder = look::Holder {
        name: "train.CACHE".to_owned(),
        path: vec!["module train".to_owned(), ".CACHE".to_owned()],
        kind: "list".to_owned(),
        length: Some(step),
        keeps: bytes,
        of: vec![HeldGroup {
            name: "bytes".to_owned(),
            count: step,
            bytes,
        }],
        also_held_by: Some("train.seen".to_owned()),
        ends: Vec::new(),
        adds: Vec::new(),
        empties: Vec::new(),
        address: 1,
    };
    Look {
        held: Some(Bytes(100_000_000) + bytes),
        breakdowns: vec![Breakdown::new(By::PythonType, vec![part])],
        heap: Some(PythonHeap {
            python: PythonVersion {
                minor: 13,
                micro: Some(0),
            },
            step: None,
            objects: 50_000,
            bytes,
            stopped: None,
            holders: vec![holder],
            unaccounted: Unaccounted::default(),
        }),
        ..Look::new(at, id, LookWhy::Due, Examiner::Census)
    }
}

/// What is read of it on every tick from then on: that list, and slots that are filled.
fn followed(id: ProcId, at: Micros) -> Followed {
    let holder = |name: &str| FollowedHolder {
        name: name.to_owned(),
        kind: "list".to_owned(),
        each: Some(Bytes(2_000_000)),
    };
    let holders = ["train.CACHE", "train.images"].map(holder).to_vec();
    Followed {
        at,
        id,
        list: 1,
        holders,
    }
}

fn reading(length: u64) -> HolderReading {
    HolderReading {
        length,
        capacity: None,
        filled: None,
        renewed: false,
    }
}

/// Its steps as they are read where nobody sends them.
fn from_memory(mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        if let Entry::Mark(mark) = entry {
            mark.source = MarkSource::Memory;
            mark.object = Some(LoopObject::TrainerState);
            mark.pid = Some(7);
        }
    }
    entries
}

/// A run that leaked, was started again by the guard, and was killed at its limit.
fn killed_at_its_limit() -> Vec<Entry> {
    let mut entries = growing(300, Some(1000));
    let at = Micros(300_000_000);
    entries.extend([
        Entry::Event {
            at,
            kind: EventKind::LimitNear,
            text: "little is left".to_owned(),
        },
        Entry::Attempt(Attempt {
            at,
            number: 2,
            checkpoint: Some("checkpoint-250".to_owned()),
            step: Some(250),
            repeated: 50,
            why: "it was killed".to_owned(),
        }),
        Entry::PostMortem(Box::new(PostMortem {
            at,
            cause: Cause::GroupOom {
                group: "/job".to_owned(),
                kills: 1,
            },
            exit: Some(Exit::Signal(9)),
            who: Some(Victim {
                pid: 7,
                role: "trainer".to_owned(),
                command: "train".to_owned(),
            }),
            seen_at: at,
            held: Bytes(700_000_000),
            limit: Some(limit(700_000_000)),
            holders: vec![Holder {
                pid: 7,
                role: "trainer".to_owned(),
                command: "train".to_owned(),
                held: Bytes(700_000_000),
                grown: Bytes(600_000_000),
            }],
            step: Some(300),
            total_steps: Some(1000),
            steps: vec![(300.0, 300)],
            attempt: 2,
            grew: Some("2.00 MB/step".to_owned()),
        })),
        Entry::End {
            at,
            exit: Some(Exit::Signal(9)),
        },
    ]);
    entries
}

fn recorded(entries: &[Entry]) -> Vec<u8> {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    for entry in entries {
        encoder.put(&mut frames, entry).unwrap();
    }
    let mut bytes = Vec::new();
    frames.swap_into(&mut bytes);
    [&file_head()[..], &bytes].concat()
}

/// One bit in the middle of it is another.
fn flipped(mut recording: Vec<u8>) -> Vec<u8> {
    let middle = recording.len() / 2;
    recording[middle] ^= 1;
    recording
}

#[test]
fn every_answer_is_as_described_and_all_that_is_described_is_answered() {
    let server = Server::start(&[]);
    let mut description = Description::read();
    let keep = |name: &str, recording: &[u8]| {
        let folder = server.home.path().join("runs").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE_NAME), recording).unwrap();
        name.to_owned()
    };
    // What the corpus has not: growth that goes on, in its first epoch or without an end, and a death.
    let mut names = vec![
        keep("killed", &recorded(&killed_at_its_limit())),
        keep("going", &recorded(&growing(300, Some(1000)))),
        keep("early", &recorded(&growing(40, Some(1000)))),
        keep("endless", &recorded(&from_memory(growing(300, None)))),
        keep("damaged", &flipped(recorded(&growing(300, None)))),
    ];
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
    for file in std::fs::read_dir(corpus).unwrap().map(Result::unwrap) {
        let path = file.path();
        if path.extension().is_some_and(|ending| ending == "lowtide") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            names.push(keep(name, &std::fs::read(&path).unwrap()));
        }
    }
    let runs = "/api/v1/runs";
    description.answered("get", runs, &server.get(runs).json());
    for name in &names {
        for address in description.addresses_of_a_run() {
            let answer = server.get(&address.replace("{name}", name));
            assert_eq!(answer.status, 200, "{name} {address}: {}", answer.body);
            description.answered("get", &address, &answer.json());
        }
    }
    let stream = server.get(&format!("{runs}/killed/stream"));
    let tick = stream
        .body
        .lines()
        .find_map(|line| line.strip_prefix("data: "));
    description.sent("Tick", &serde_json::from_str(tick.unwrap()).unwrap());
    description.sent("Error", &server.get(&format!("{runs}/nobody")).json());
    let started = server.post(runs, &json!({"command": ["sleep", "300"]}));
    description.answered("post", runs, &started.json());
    let name = started.json()["name"].as_str().unwrap().to_owned();
    let stopped = server.post(&format!("{runs}/{name}/stop"), &json!(null));
    description.answered("post", "/api/v1/runs/{name}/stop", &stopped.json());
    // The stream ends with the run.
    server.get(&format!("{runs}/{name}/stream"));
    description.all_was_seen();
}

#[test]
fn types_are_made_from_the_description() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/types.d.ts");
    let types = Description::read().types();
    if std::env::var_os("LOWTIDE_BLESS").is_some() {
        std::fs::write(path, &types).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap();
    assert!(
        there == types,
        "web/types.d.ts is old; its first lines say how it is made again"
    );
}

#[test]
fn a_run_shows_itself() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(LOWTIDE);
    command.args(["run", "--web=127.0.0.1:0", "--", "sh", "-c", "sleep 300"]);
    command
        .env("LOWTIDE_HOME", home.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.start();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let page = said
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("page: http://"))
        .unwrap();
    let (address, name) = page
        .split_once("http://")
        .unwrap()
        .1
        .split_once("/runs/")
        .unwrap();
    let (name, token) = name.split_once("#token=").unwrap();
    let server = Server {
        child,
        address: address.to_owned(),
        token: token.trim().to_owned(),
        home,
    };
    let report = until("the report", || {
        let answer = server.get(&format!("/api/v1/runs/{}/report", name.trim()));
        (answer.status == 200).then_some(answer)
    });
    assert_eq!(report.json()["name"], name.trim());
    assert_eq!(
        server
            .post("/api/v1/runs", &json!({"command": ["true"]}))
            .status,
        403
    );
    let stranger = server.ask("GET", "/api/v1/runs", &[], "");
    assert_eq!(stranger.status, 401);
    // Ends the job too: the watcher passes it on.
    Command::new("kill")
        .arg(server.child.id().to_string())
        .ends();
    assert!(
        said.map(Result::unwrap)
            .any(|line| line.contains("recording"))
    );
}
