//! Rules of watching and of changing something: by a token, the page that connects, and the address.
//!
//! The protocol itself knows no tokens. But a watcher begins with an HTTP request, which can carry one: in the address,
//! `ws://robot:8765/?token=...`, which people type into Foxglove, or in a header, for programs.
//!
//! Browsers let any page of the Internet connect to any address, also to the one of this computer alone, and tell only
//! where the page comes from. So pages are let in by their origin.

use tungstenite::handshake::server::Request;

/// Hosts whose pages may watch: Foxglove's, and those of this computer.
const HOSTS: [&str; 4] = ["app.foxglove.dev", "localhost", "127.0.0.1", "[::1]"];

/// Rules of watching and of changing something.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// With this token a watcher may change something.
    pub(super) token: Option<String>,
    /// True if all that may watch may also change something.
    pub(super) all_may_change: bool,
    /// Origins of further pages that may watch, such as `https://example.org`.
    pub(super) origins: Vec<String>,
}

/// Decision about a watcher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Admitted {
        may_change: bool,
    },
    /// It is refused with this HTTP status and sentence.
    Refused(&'static str, String),
}

/// Compares texts in a time that does not depend on where they differ.
fn is_same(a: &str, b: &str) -> bool {
    let mut difference = a.len() ^ b.len();
    for (a, b) in a.bytes().zip(b.bytes()) {
        difference |= usize::from(a ^ b);
    }
    difference == 0
}

/// Returns the token that a request carries.
fn token_of(request: &Request) -> Option<&str> {
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    if let Some(token) = header.and_then(|value| value.strip_prefix("Bearer ")) {
        return Some(token.trim());
    }
    let mut parts = request.uri().query()?.split('&');
    parts.find_map(|part| part.strip_prefix("token="))
}

impl Rules {
    /// Decides about the program that sends this request.
    pub(super) fn judge(&self, request: &Request) -> Verdict {
        let refused = |status, sentence: &str| Verdict::Refused(status, sentence.to_owned());
        let upgrade = request.headers().get("upgrade").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !upgrade.eq_ignore_ascii_case("websocket") {
            return refused(
                "426 Upgrade Required",
                "This is a WebSocket of rospin bridge. Open it in Foxglove: Open connection, Foxglove WebSocket.",
            );
        }
        let has_token = match (token_of(request), &self.token) {
            (Some(given), Some(token)) if is_same(given, token) => true,
            (Some(_), Some(_)) => return refused("401 Unauthorized", "the token is not that of --token"),
            (Some(_), None) => return refused("401 Unauthorized", "there is no --token, so leave the token out"),
            (None, _) => false,
        };
        let origin = request.headers().get("origin").and_then(|value| value.to_str().ok());
        if !has_token && !origin.is_none_or(|origin| self.is_known(origin)) {
            let sentence = format!(
                "pages of {} may not watch; `--allow-origin {}` lets them",
                origin.unwrap_or_default(),
                origin.unwrap_or_default()
            );
            return refused("403 Forbidden", &sentence);
        }
        Verdict::Admitted { may_change: has_token || self.all_may_change }
    }

    /// Returns true if pages of this origin may watch. Those of programs that are no browser have schemes of their own.
    fn is_known(&self, origin: &str) -> bool {
        if self.origins.iter().any(|known| known.trim_end_matches('/') == origin) {
            return true;
        }
        let Some((scheme, host)) = origin.split_once("://") else { return false };
        if !matches!(scheme, "http" | "https") {
            return true;
        }
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        HOSTS.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request {
        let mut builder = tungstenite::http::Request::builder().uri(uri).header("upgrade", "websocket");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    const WATCH: Verdict = Verdict::Admitted { may_change: false };
    const CHANGE: Verdict = Verdict::Admitted { may_change: true };

    fn status(verdict: &Verdict) -> &str {
        match verdict {
            Verdict::Refused(status, _) => &status[..3],
            Verdict::Admitted { .. } => "101",
        }
    }

    #[test]
    fn only_who_has_the_token_may_change_something() {
        let rules = Rules { token: Some("correct-horse".to_owned()), ..Rules::default() };
        assert_eq!(rules.judge(&request("/", &[])), WATCH);
        assert_eq!(rules.judge(&request("/?a=b&token=correct-horse", &[])), CHANGE);
        assert_eq!(rules.judge(&request("/", &[("authorization", "Bearer correct-horse")])), CHANGE);
        for wrong in ["/?token=", "/?token=correct-hors", "/?token=correct-horses", "/?token=wrong-horse-x"] {
            assert_eq!(status(&rules.judge(&request(wrong, &[]))), "401", "{wrong}");
        }
        assert_eq!(status(&Rules::default().judge(&request("/?token=correct-horse", &[]))), "401");
    }

    #[test]
    fn all_may_change_something_only_if_the_user_says_so() {
        assert_eq!(Rules::default().judge(&request("/", &[])), WATCH);
        let open = Rules { all_may_change: true, ..Rules::default() };
        assert_eq!(open.judge(&request("/", &[])), CHANGE);
    }

    #[test]
    fn pages_of_others_may_not_watch() {
        let token = Some("correct-horse".to_owned());
        let rules = Rules { token, all_may_change: true, origins: vec!["https://robots.example.org/".to_owned()] };
        let judge = |origin: &str| status(&rules.judge(&request("/", &[("origin", origin)]))).to_owned();
        for known in [
            "https://app.foxglove.dev",
            "http://localhost:8080",
            "http://[::1]:3000",
            "http://127.0.0.1",
            "file://",
            "https://robots.example.org",
        ] {
            assert_eq!(judge(known), "101", "{known}");
        }
        for other in ["https://example.com", "null", "https://app.foxglove.dev.example.com", "http://localhost.example"]
        {
            assert_eq!(judge(other), "403", "{other}");
        }
        let with_token = request("/?token=correct-horse", &[("origin", "https://example.com")]);
        assert_eq!(rules.judge(&with_token), CHANGE);
    }

    #[test]
    fn a_browser_that_opens_the_address_as_a_page_is_told() {
        let page = tungstenite::http::Request::builder().uri("/").body(()).unwrap();
        assert_eq!(status(&Rules::default().judge(&page)), "426");
    }
}
