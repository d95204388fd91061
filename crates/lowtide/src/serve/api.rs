//! What can be asked for, address by address. `web/openapi.json` describes it, and a test holds the two
//! together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use lowtide_core::meter::Meter;
use lowtide_core::report::LineName;
use lowtide_recording::FILE_NAME;
use lowtide_recording::summary::Summary;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::answer::{Refusal, safe_headers};
use super::open::{Inner, Open};
use super::{Server, jobs, metrics, stream};
use crate::glances::Glances;
use crate::listing::{Looked, at_a_glance};
use crate::show::page;

/// The description of all this.
pub(super) const OPENAPI: &str = include_str!("../../web/openapi.json");

/// A request's body: a command with its arguments and environment.
const BODY: usize = 256 << 10;
/// Columns that one picture may have.
const COLUMNS: usize = 20_000;
const COLUMNS_USUAL: usize = 1000;
/// A page that has not asked for its data by then does not want it any more.
const AHEAD: Duration = Duration::from_secs(5);
/// Recordings that nobody has judged yet are read through for so long per answer: the page asks again.
const JUDGED_WITHIN: Duration = Duration::from_secs(1);
/// Runs in one list.
const LISTED: usize = 200;

type Shared = State<Arc<Server>>;
type Answer = Result<Response, Refusal>;

pub(super) fn router(server: Arc<Server>) -> Router {
    let api = Router::new()
        .route("/runs", get(list).post(start))
        .route("/runs/{name}", get(run))
        .route("/runs/{name}/report", get(report))
        .route("/runs/{name}/report.html", get(file))
        .route("/runs/{name}/verdict", get(verdict))
        .route("/runs/{name}/explanation", get(explanation))
        .route("/runs/{name}/events", get(events))
        .route("/runs/{name}/lines", get(lines))
        .route("/runs/{name}/series", get(series))
        .route("/runs/{name}/stack", get(stack))
        .route("/runs/{name}/stream", get(follow))
        .route("/runs/{name}/download", get(download))
        .route("/runs/{name}/stop", post(stop))
        .route(
            "/openapi.json",
            get(async || typed("application/json", OPENAPI)),
        );
    let shell = page::shell();
    let script = page::script();
    let page = move || async move { typed("text/html; charset=utf-8", shell) };
    let of_run = {
        let page = page.clone();
        async move |State(server): Shared, Path(name): Path<String>| {
            read_ahead(server, name);
            page().await
        }
    };
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(exposition))
        .route(
            "/app.js",
            get(async move || typed("text/javascript; charset=utf-8", script)),
        )
        .route(
            "/app.css",
            get(async || typed("text/css; charset=utf-8", page::STYLE)),
        )
        .route("/", get(page.clone()))
        .route("/runs/{name}", get(of_run))
        .route("/compare/{a}/{b}", get(page))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address"))
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), admit))
        .layer(middleware::from_fn(safe_headers))
        .with_state(server)
}

fn typed(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

async fn admit(State(server): Shared, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let open = !(path.starts_with("/api/") || path == "/metrics");
    match server.gate.admit(request.method(), open, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => Refusal::from(refused).into_response(),
    }
}

/// Work that reads disks is not for the thread that answers.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    spawn_blocking(work).await.map_err(Refusal::ourselves)?
}

/// The run of that name. A name is one folder of the store and nothing else.
fn find(server: &Server, name: &str) -> Result<Arc<Open>, Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fine =
        !name.is_empty() && name.len() <= 200 && name.chars().all(plain) && !name.starts_with('.');
    if !fine || server.only.as_ref().is_some_and(|only| only != name) {
        return Err(Refusal::missing(name));
    }
    let path = server.store.runs_dir().join(name).join(FILE_NAME);
    if !path.is_file() {
        return Err(Refusal::missing(name));
    }
    server
        .shelf
        .take(name, path)
        .map_err(|error| Refusal::unreadable(name, &error))
}

/// A page is opened that will ask for this run as soon as its script is there: reading begins now.
/// Not where a token is needed: whoever loads the empty page has shown none.
fn read_ahead(server: Arc<Server>, name: String) {
    if server.gate.is_open() {
        tokio::spawn(async move {
            let open = apart(move || find(&server, &name)).await.ok()?;
            // What goes wrong is told to the one who asks for the data.
            let made = open.ask(|run| run.json().map(drop));
            tokio::time::timeout(AHEAD, made).await.ok()
        });
    }
}

/// Asks a run for something, as it is now.
async fn of_run<T: Send + 'static>(
    server: Arc<Server>,
    name: String,
    ask: impl FnOnce(&mut Inner) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let (own, wanted) = (Arc::clone(&server), name.clone());
    let open = apart(move || find(&own, &wanted)).await?;
    let asked = open.ask(ask).await;
    asked.map_err(|error| Refusal::unreadable(&name, &error))?
}

fn json_of(value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(Refusal::ourselves)?;
    Ok(typed("application/json", text))
}

fn row_of(server: &Server, name: &str) -> Option<Value> {
    let stored = server
        .store
        .runs()
        .ok()?
        .into_iter()
        .find(|run| run.name == name)?;
    Some(row(server, &stored, &Glances::within(JUDGED_WITHIN)))
}

fn row(server: &Server, stored: &lowtide_recording::store::StoredRun, glances: &Glances) -> Value {
    let path = stored.recording();
    let summary = Summary::read(&path).ok();
    let looked = summary.map(|summary| Looked {
        losses: server.losses.of(&path, &summary),
        glance: glances.of(&path, &summary),
        summary,
    });
    let mut row = at_a_glance(stored, looked);
    // Where it lies is nobody's business over the network; `download` has it.
    if let Value::Object(fields) = &mut row {
        fields.remove("path");
    }
    row
}

async fn list(State(server): Shared, Query(query): Query<HashMap<String, String>>) -> Answer {
    let most = number(&query, "limit", LISTED as f64, 1.0, 1000.0)? as usize;
    let rows = apart(move || {
        let mut stored = server.store.runs().map_err(Refusal::ourselves)?;
        stored.retain(|run| run.recording().is_file());
        stored.retain(|run| server.only.as_ref().is_none_or(|only| *only == run.name));
        let rows = stored.iter().rev().take(most);
        let glances = Glances::within(JUDGED_WITHIN);
        Ok(rows
            .map(|run| row(&server, run, &glances))
            .collect::<Vec<_>>())
    })
    .await?;
    json_of(&json!({"schema": 1, "runs": rows}))
}

async fn run(State(server): Shared, Path(name): Path<String>) -> Answer {
    let row = apart(move || {
        find(&server, &name)?;
        row_of(&server, &name).ok_or_else(|| Refusal::missing(&name))
    });
    json_of(&row.await?)
}

async fn report(State(server): Shared, Path(name): Path<String>) -> Answer {
    let json = of_run(server, name, |run| run.json().map_err(Refusal::ourselves)).await?;
    Ok(typed("application/json", json.to_string()))
}

async fn file(State(server): Shared, Path(name): Path<String>) -> Answer {
    let to = format!("attachment; filename=\"{}.html\"", plain_name(&name));
    let html = of_run(server, name, |run| {
        page::file(&run.whole()).map_err(Refusal::ourselves)
    });
    let mut response = typed("text/html; charset=utf-8", html.await?);
    let to = to.parse().map_err(Refusal::ourselves)?;
    response
        .headers_mut()
        .insert(header::CONTENT_DISPOSITION, to);
    Ok(response)
}

async fn verdict(State(server): Shared, Path(name): Path<String>) -> Answer {
    json_of(&of_run(server, name, |run| Ok(run.report().verdict.clone())).await?)
}

async fn explanation(State(server): Shared, Path(name): Path<String>) -> Answer {
    let found = of_run(server, name, |run| Ok(run.report().explanation.clone())).await?;
    json_of(&json!({"explanation": found}))
}

async fn events(State(server): Shared, Path(name): Path<String>) -> Answer {
    let events = of_run(server, name, |run| Ok(run.report().events.clone())).await?;
    json_of(&json!({"events": events}))
}

async fn lines(State(server): Shared, Path(name): Path<String>) -> Answer {
    let lines = of_run(server, name, |run| Ok(run.picture.line_names())).await?;
    json_of(&json!({"lines": lines}))
}

/// A part of the axis, and in how many columns.
fn part(query: &HashMap<String, String>) -> Result<(f64, f64, usize), Refusal> {
    let from = number(query, "from", f64::NEG_INFINITY, f64::MIN, f64::MAX)?;
    let to = number(query, "to", f64::INFINITY, f64::MIN, f64::MAX)?;
    if from > to {
        // Each is a number in its range: only the two together make no sense, which no description can say.
        let together = "`from` lies behind `to`";
        return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, together));
    }
    let columns = number(query, "columns", COLUMNS_USUAL as f64, 2.0, COLUMNS as f64)?;
    if columns.fract() != 0.0 {
        return Err(Refusal::unclear("`columns` is a whole number"));
    }
    Ok((from, to, columns as usize))
}

fn number(
    query: &HashMap<String, String>,
    name: &str,
    usual: f64,
    least: f64,
    most: f64,
) -> Result<f64, Refusal> {
    let Some(text) = query.get(name) else {
        return Ok(usual);
    };
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && (least..=most).contains(value))
        .ok_or_else(|| Refusal::unclear(format!("`{name}` is no number in its range")))
}

async fn series(
    State(server): Shared,
    Path(name): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Answer {
    let (from, to, columns) = part(&query)?;
    let asked =
        |name: &str, usual: &str| query.get(name).cloned().unwrap_or_else(|| usual.to_owned());
    let no_such_line = || {
        Refusal::new(StatusCode::NOT_FOUND, "this run has no such line")
            .hint("GET …/lines lists them")
    };
    // Any word may be asked for: the description names no meters, so that a new one is declared in one place.
    let meter = Meter::named(&asked("meter", "held")).ok_or_else(no_such_line)?;
    let line = LineName {
        who: asked("who", "tree"),
        meter,
    };
    let found = of_run(server, name, move |run| {
        run.picture
            .line(&line, from, to, columns)
            .ok_or_else(no_such_line)
    });
    json_of(&found.await?)
}

async fn stack(
    State(server): Shared,
    Path(name): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Answer {
    let (from, to, columns) = part(&query)?;
    let stack = of_run(server, name, move |run| {
        Ok(run.picture.stack(from, to, columns))
    })
    .await?;
    json_of(&json!({"stack": stack}))
}

async fn follow(State(server): Shared, Path(name): Path<String>) -> Answer {
    let own = Arc::clone(&server);
    let open = apart(move || find(&own, &name)).await?;
    Ok(stream::follow(&server, open).await?.into_response())
}

async fn download(State(server): Shared, Path(name): Path<String>) -> Answer {
    let to = format!("attachment; filename=\"{}.lowtide\"", plain_name(&name));
    let file = apart(move || {
        let open = find(&server, &name)?;
        lowtide_sys::regular::open(open.path()).map_err(Refusal::ourselves)
    });
    let body = jobs::body_of(file.await?);
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, to),
    ];
    Ok((headers, body).into_response())
}

/// A name that can stand in a header; one that cannot belongs to no run anyway.
fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect()
}

async fn start(
    State(server): Shared,
    body: Result<Json<jobs::JobRequest>, axum::extract::rejection::JsonRejection>,
) -> Answer {
    let Json(job) =
        body.map_err(|rejection| Refusal::new(rejection.status(), rejection.body_text()))?;
    if server.only.is_some() {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "this server shows one run and starts none",
        )
        .hint("`lowtide serve` starts jobs"));
    }
    let started = apart(move || server.jobs.start(&server.store, &job)).await?;
    let place = format!("/api/v1/runs/{}", started.name);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, place)],
        Json(started),
    )
        .into_response())
}

async fn stop(State(server): Shared, Path(name): Path<String>) -> Answer {
    let done = apart(move || {
        let open = find(&server, &name)?;
        jobs::stop(open.name(), open.path())
    });
    json_of(&done.await?)
}

async fn exposition(State(server): Shared) -> Answer {
    let text = metrics::exposition(server).await?;
    Ok(typed("text/plain; version=0.0.4; charset=utf-8", text))
}
