//! Who may ask for what: the token, and which hosts and origins are ours.
//!
//! Everything but the empty page needs the token, unless the user has opened loopback to everybody on this
//! machine (`--open`); starting and stopping always needs it. A page of another site must not use the reader's browser as its
//! messenger, so the names that we answer to are known (DNS rebinding) and origins are compared (CSRF).

use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method, header};

/// Wrong tokens in [`WINDOW`] before nobody may try any more for a while: guessing 128 bits is
/// hopeless at any rate, and noise should cost us nothing.
const TRIES: usize = 30;
const WINDOW: Duration = Duration::from_secs(60);

pub(crate) struct Gate {
    token: String,
    /// Reading needs the token too.
    closed: bool,
    /// `localhost:7380`, `[::1]:7380`, …
    hosts: Vec<String>,
    wrong: Mutex<Vec<Instant>>,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Asked for under a name that is not ours.
    Host,
    /// Another site's page asks.
    Origin,
    /// The token is missing or wrong.
    Token,
    /// Too many wrong ones.
    TooMany,
}

impl Gate {
    /// `names` are further host names under which we are reached, without a port.
    pub(crate) fn new(bound: SocketAddr, token: String, open: bool, names: &[String]) -> Gate {
        let port = bound.port();
        let mut hosts = vec![host_of(bound.ip(), port)];
        if bound.ip().is_loopback() || bound.ip().is_unspecified() {
            hosts.push(format!("localhost:{port}"));
            hosts.push(host_of(IpAddr::from([127, 0, 0, 1]), port));
            hosts.push(format!("[::1]:{port}"));
        }
        for name in names {
            let name = name.to_ascii_lowercase();
            hosts.push(format!("{name}:{port}"));
            hosts.push(name);
        }
        Gate {
            token,
            closed: !open || !bound.ip().is_loopback(),
            hosts,
            wrong: Mutex::default(),
        }
    }

    /// Whether everybody who can reach us may look.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed
    }

    /// Whether this request may be answered. `open` paths are the page itself, which holds no data.
    pub(crate) fn admit(
        &self,
        method: &Method,
        open: bool,
        headers: &HeaderMap,
    ) -> Result<(), Refused> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST)
            .ok_or(Refused::Host)?
            .to_ascii_lowercase();
        if headers.get_all(header::HOST).iter().count() != 1 || !self.hosts.contains(&host) {
            return Err(Refused::Host);
        }
        let reads = matches!(*method, Method::GET | Method::HEAD);
        if headers.contains_key(header::ORIGIN) {
            let own = text(header::ORIGIN).is_some_and(|origin| {
                origin.to_ascii_lowercase().strip_prefix("http://") == Some(host.as_str())
            });
            if !own {
                return Err(Refused::Origin);
            }
        }
        let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
        // Following a link to the page is fine from anywhere; data is not.
        if matches!(site, Some(b"cross-site" | b"same-site")) && !(open && reads) {
            return Err(Refused::Origin);
        }
        if reads && (open || !self.closed) {
            return Ok(());
        }
        self.check(text(header::AUTHORIZATION))
    }

    fn check(&self, given: Option<&str>) -> Result<(), Refused> {
        let token = given.and_then(|given| given.strip_prefix("Bearer "));
        if token.is_some_and(|token| same(token.as_bytes(), self.token.as_bytes())) {
            return Ok(());
        }
        let mut wrong = self
            .wrong
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        let now = Instant::now();
        wrong.retain(|at| now.duration_since(*at) < WINDOW);
        if wrong.len() >= TRIES {
            return Err(Refused::TooMany);
        }
        // Only a guess counts: a page that does not know the token yet asks without one.
        if token.is_some() {
            wrong.push(now);
        }
        Err(Refused::Token)
    }
}

fn host_of(ip: IpAddr, port: u16) -> String {
    SocketAddr::new(ip, port).to_string()
}

/// Takes as long for a token that is wrong in its first letter as for one wrong in its last.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differs = a.iter().zip(b).fold(0u8, |seen, (x, y)| seen | (x ^ y));
    std::hint::black_box(differs) == 0 && a.len() == b.len() && !b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        gate: &Gate,
        method: Method,
        open: bool,
        given: &[(&'static str, &str)],
    ) -> Result<(), Refused> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, value.parse().unwrap());
        }
        gate.admit(&method, open, &headers)
    }

    fn local() -> Gate {
        Gate::new(
            "127.0.0.1:7380".parse().unwrap(),
            "secret".to_owned(),
            true,
            &[],
        )
    }

    const HERE: (&str, &str) = ("host", "localhost:7380");

    #[test]
    fn open_loopback_may_look_but_not_act() {
        let gate = local();
        assert_eq!(ask(&gate, Method::GET, false, &[HERE]), Ok(()));
        assert_eq!(
            ask(&gate, Method::POST, false, &[HERE]),
            Err(Refused::Token)
        );
        let right = ("authorization", "Bearer secret");
        assert_eq!(ask(&gate, Method::POST, false, &[HERE, right]), Ok(()));
        for wrong in [
            "Bearer secreT",
            "Bearer secre",
            "Bearer secrets",
            "Bearer ",
            "secret",
            "",
        ] {
            let given = [HERE, ("authorization", wrong)];
            assert_eq!(
                ask(&gate, Method::POST, false, &given),
                Err(Refused::Token),
                "{wrong}"
            );
        }
    }

    #[test]
    fn any_other_address_needs_the_token_for_everything_but_the_page() {
        let gate = Gate::new(
            "10.0.0.7:80".parse().unwrap(),
            "secret".to_owned(),
            true,
            &["Node7".to_owned()],
        );
        for host in ["10.0.0.7:80", "node7:80", "NODE7"] {
            let host = ("host", host);
            assert_eq!(ask(&gate, Method::GET, true, &[host]), Ok(()));
            assert_eq!(ask(&gate, Method::GET, false, &[host]), Err(Refused::Token));
        }
        let loopback = "127.0.0.1:7380".parse().unwrap();
        let private = Gate::new(loopback, "x".to_owned(), false, &[]);
        assert_eq!(
            ask(&private, Method::GET, false, &[HERE]),
            Err(Refused::Token)
        );
    }

    #[test]
    fn other_names_are_refused() {
        for host in [
            "evil.example",
            "evil.example:7380",
            "localhost",
            "127.0.0.1:7381",
            "",
        ] {
            assert_eq!(
                ask(&local(), Method::GET, true, &[("host", host)]),
                Err(Refused::Host),
                "{host}"
            );
        }
        assert_eq!(ask(&local(), Method::GET, true, &[]), Err(Refused::Host));
        assert_eq!(
            ask(&local(), Method::GET, true, &[HERE, ("host", "evil")]),
            Err(Refused::Host)
        );
    }

    #[test]
    fn other_sites_are_refused() {
        let right = ("authorization", "Bearer secret");
        for origin in [
            "http://evil.example",
            "null",
            "https://localhost:7380",
            "http://localhost",
        ] {
            let given = [HERE, right, ("origin", origin)];
            assert_eq!(
                ask(&local(), Method::GET, false, &given),
                Err(Refused::Origin),
                "{origin}"
            );
        }
        let own = [HERE, right, ("origin", "http://localhost:7380")];
        assert_eq!(ask(&local(), Method::POST, false, &own), Ok(()));
        let cross = [HERE, ("sec-fetch-site", "cross-site")];
        assert_eq!(
            ask(&local(), Method::GET, false, &cross),
            Err(Refused::Origin)
        );
        assert_eq!(ask(&local(), Method::GET, true, &cross), Ok(()));
    }

    #[test]
    fn guessing_is_cut_short() {
        let gate = local();
        let wrong = [HERE, ("authorization", "Bearer no")];
        for _ in 0..TRIES {
            assert_eq!(ask(&gate, Method::POST, false, &wrong), Err(Refused::Token));
        }
        assert_eq!(
            ask(&gate, Method::POST, false, &wrong),
            Err(Refused::TooMany)
        );
        let right = [HERE, ("authorization", "Bearer secret")];
        assert_eq!(ask(&gate, Method::POST, false, &right), Ok(()));
    }
}
