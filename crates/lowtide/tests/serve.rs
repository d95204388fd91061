//! `lowtide serve` by the real binary: what is answered, and what is refused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use lowtide_testing::{PATIENCE, Started, Starts, until};
use serde_json::{Value, json};

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
                return rest.trim_end_matches('/').to_owned();
            }
        };
        let (address, token) = (after("http://"), after("token: "));
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

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
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
fn a_private_server_shows_nothing_without_its_token() {
    let server = Server::start(&["--private"]);
    assert_eq!(server.get("/").status, 200);
    for path in ["/api/v1/runs", "/metrics", "/api/v1/openapi.json"] {
        assert_eq!(server.get(path).status, 401, "{path}");
        let right = format!("Bearer {}", server.token);
        assert_eq!(
            server
                .ask("GET", path, &[("authorization", &right)], "")
                .status,
            200,
            "{path}"
        );
    }
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
    let server = Server {
        child,
        address: address.to_owned(),
        token: "unknown".to_owned(),
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
        401
    );
    // Ends the job too: the watcher passes it on.
    Command::new("kill")
        .arg(server.child.id().to_string())
        .ends();
    assert!(
        said.map(Result::unwrap)
            .any(|line| line.contains("recording"))
    );
}
