//! Answers: JSON, and refusals that say what to do. Every answer carries the headers that keep a page
//! from being used against its reader.

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lowtide_recording::RecordingError;
use serde_json::json;

use super::gate::Refused;

/// Scripts and styles are ours alone, nothing is loaded from elsewhere, and nobody frames the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A refusal as the API tells it.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: String,
    hint: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Refusal {
        Refusal {
            status,
            error: error.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Refusal {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn missing(name: &str) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, format!("there is no run `{name}`"))
            .hint("GET /api/v1/runs lists them")
    }

    pub(crate) fn unclear(error: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, error)
    }

    /// A recording that is there and cannot be read. Where it lies is nobody's business over the network.
    pub(crate) fn unreadable(name: &str, error: &anyhow::Error) -> Refusal {
        use RecordingError::{Empty, NotARecording, Open, Read, Version};
        let Some(known) = error.downcast_ref::<RecordingError>() else {
            return Refusal::ourselves(error);
        };
        let why = match known {
            Empty { .. } => "it ends before its first entry".to_owned(),
            NotARecording { .. } => "its file is no recording".to_owned(),
            Version { found, .. } => {
                format!("its format has version {found}, which this lowtide does not read")
            }
            Open { source, .. } | Read { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        Refusal::ourselves(format!("the recording of `{name}` cannot be read: {why}"))
            .hint(known.hint())
    }

    pub(crate) fn ourselves(error: impl std::fmt::Display) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({"error": self.error, "hint": self.hint});
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(
            self.status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
        }
        response
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        match refused {
            Refused::Host => Refusal::new(
                StatusCode::FORBIDDEN,
                "this server is not known by that name",
            )
            .hint("use the address that `lowtide serve` printed, or start it with --host NAME"),
            Refused::Origin => Refusal::new(
                StatusCode::FORBIDDEN,
                "pages of other sites may not ask this server",
            ),
            Refused::Token => {
                Refusal::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong").hint(
                    "send `Authorization: Bearer TOKEN`; it was printed when the server started",
                )
            }
            Refused::TooMany => {
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens")
            }
        }
    }
}

/// Adds to every answer what keeps its reader safe.
pub(super) async fn safe_headers(request: Request<Body>, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The recording goes on: what was true a second ago is not any more.
    let fresh = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(fresh);
    response
}
