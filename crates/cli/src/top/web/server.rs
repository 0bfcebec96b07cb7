//! The HTTP server of the page: one thread, which only answers requests to read.
//!
//! Each watcher gets the newest state whenever its connection has room for one, so that a slow watcher skips states and
//! nothing waits for it. All of them share the bytes of a state.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;

use super::connection::{Connection, TokioTimer};
use super::hosts::Hosts;
use super::page;

/// Limits of what clients may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The largest number of connections that are served at the same time. Others are told so, up to four times this
    /// number in all; those beyond it are closed without a word.
    pub(super) connections: usize,
    /// The longest time for which a client may send no request, or take nothing of what is sent.
    pub(super) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 64, patience: Duration::from_secs(30) }
    }
}

/// The most bytes of a request, and of small writes that are joined.
const BUFFER: usize = 16 << 10;
/// Text before a state in the stream of events, and behind it.
const EVENT: (&str, &str) = ("data: ", "\n\n");

/// A server that runs until the process ends.
pub(super) struct Server {
    address: SocketAddr,
    states: watch::Sender<Bytes>,
    #[cfg(test)]
    connections: Arc<AtomicUsize>,
}

struct Shared {
    hosts: Hosts,
    limits: Limits,
    /// The newest state, as an event.
    states: watch::Receiver<Bytes>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server at a socket that listens. `state` is the first state, as JSON in one line.
    ///
    /// # Errors
    /// If the socket or a thread cannot be had.
    pub(super) fn start(listener: TcpListener, hosts: Hosts, limits: Limits, state: &str) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (sender, states) = watch::channel(event(state));
        let connections = Arc::new(AtomicUsize::new(0));
        #[cfg(test)]
        let counted = Arc::clone(&connections);
        let shared = Arc::new(Shared { hosts, limits, states, connections });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let serve = move || runtime.block_on(serve(listener, shared));
        thread::Builder::new().name("web".to_owned()).spawn(serve)?;
        Ok(Self {
            address,
            states: sender,
            #[cfg(test)]
            connections: counted,
        })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a state, as JSON in one line, to all who watch.
    pub(super) fn send(&self, state: &str) {
        self.states.send_replace(event(state));
    }

    /// Returns the number of connections.
    #[cfg(test)]
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn event(state: &str) -> Bytes {
    [EVENT.0, state, EVENT.1].concat().into()
}

/// A connection's place among those of now. It is free again when this is dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // This process has no free file descriptor.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let number = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Place(Arc::clone(&shared.connections));
        let limits = shared.limits;
        if number > 4 * limits.connections {
            continue;
        }
        let is_full = number > limits.connections;
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = |request: Request<Incoming>| {
                let response = if is_full { full(limits) } else { shared.answer(&request) };
                async move { Ok::<_, Infallible>(response) }
            };
            let mut http = http1::Builder::new();
            http.timer(TokioTimer).header_read_timeout(limits.patience).max_buf_size(BUFFER);
            let connection = Connection::new(stream, limits.patience);
            // That a connection broke is no news.
            let _ = http.serve_connection(connection, service_fn(answer)).await;
            drop(place);
        });
    }
}

/// Content of a response.
enum Content {
    Whole(Bytes),
    /// States as events, without an end.
    States(Pin<Box<dyn Future<Output = Next> + Send>>),
}

/// The next event, and where further ones come from; `None` if no further one comes.
type Next = Option<(Bytes, watch::Receiver<Bytes>)>;

async fn next(mut states: watch::Receiver<Bytes>) -> Next {
    states.changed().await.ok()?;
    let state = states.borrow_and_update().clone();
    Some((state, states))
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::States(waits) => {
                let Some((state, states)) = ready!(waits.as_mut().poll(context)) else { return Poll::Ready(None) };
                *waits = Box::pin(next(states));
                Poll::Ready(Some(Ok(Frame::data(state))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::States(_) => SizeHint::default(),
        }
    }
}

/// Returns a response with headers that keep others from using or keeping it.
fn response(status: StatusCode, kind: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    *response.status_mut() = status;
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    response
}

fn refusal(status: StatusCode, reason: &str) -> Response<Content> {
    response(status, "text/plain; charset=utf-8", Content::Whole(format!("{reason}\n").into()))
}

fn full(limits: Limits) -> Response<Content> {
    let reason = format!("{} connections watch already", limits.connections);
    let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, &reason);
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

impl Shared {
    fn answer(&self, request: &Request<Incoming>) -> Response<Content> {
        let headers = request.headers();
        let named = text_of(headers, header::HOST).is_some_and(|host| self.hosts.allow(host));
        let target = request.uri().authority().is_none_or(|authority| self.hosts.allow(authority.as_str()));
        let has_one_host = headers.get_all(header::HOST).iter().count() == 1;
        if !named || !target || !has_one_host {
            let reason =
                "This server has no such name. It answers to localhost and to the address given with --address.";
            return refusal(StatusCode::FORBIDDEN, reason);
        }
        // Pages of others may not read an answer. Nor do they need one.
        let is_of_others = match text_of(headers, HeaderName::from_static("sec-fetch-site")) {
            Some(site) => matches!(site, "cross-site" | "same-site"),
            None => false,
        };
        let path = request.uri().path();
        let has_foreign_origin = headers.contains_key(header::ORIGIN)
            && !text_of(headers, header::ORIGIN).is_some_and(|origin| self.hosts.allow_origin(origin));
        if has_foreign_origin || is_of_others && path != "/" {
            return refusal(StatusCode::FORBIDDEN, "Pages of others may not ask for this.");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response =
                refusal(StatusCode::METHOD_NOT_ALLOWED, "Nothing can be changed here: only GET and HEAD.");
            response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/" => self.page(),
            "/state" => {
                let event = self.states.borrow().clone();
                let state = event.slice(EVENT.0.len()..event.len() - EVENT.1.len());
                response(StatusCode::OK, "application/json", Content::Whole(state))
            }
            "/events" => {
                let mut states = self.states.clone();
                // The newest one comes at once.
                states.mark_changed();
                let is_head = request.method() == Method::HEAD;
                let content =
                    if is_head { Content::Whole(Bytes::new()) } else { Content::States(Box::pin(next(states))) };
                response(StatusCode::OK, "text/event-stream", content)
            }
            _ => refusal(StatusCode::NOT_FOUND, "There are /, /state and /events."),
        }
    }

    fn page(&self) -> Response<Content> {
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let page = page::page(&nonce);
        let mut response = response(StatusCode::OK, "text/html; charset=utf-8", Content::Whole(page.into()));
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        if let Ok(policy) = policy.parse() {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}
