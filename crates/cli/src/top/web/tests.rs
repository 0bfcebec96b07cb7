//! Tests of the server over sockets, and of the states that it sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::hosts::Hosts;
use super::server::{Limits, Server};

const PATIENCE: Duration = Duration::from_secs(20);

fn server(limits: Limits) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = Hosts::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "127.0.0.1", "robot");
    Server::start(listener, hosts, limits, "{\"sequence\":0}").unwrap()
}

fn connect(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that refuses need not read all of it.
    let _ = stream.write_all(request.as_bytes());
    stream
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost:8770\r\nConnection: close\r\n\r\n")
}

/// Returns the whole response to a request after which the connection ends; a part if it broke.
fn answer(server: &Server, request: &str) -> String {
    let mut bytes = Vec::new();
    let _ = connect(server, request).read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// Returns the data of the next event.
fn next_event(lines: &mut impl BufRead) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[test]
fn the_page_and_the_state_are_served_with_headers_that_keep_others_out() {
    let server = server(Limits::default());
    let page = answer(&server, &get("/"));
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("</html>\n"), "{page}");
    let policy = page.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
    let nonce = policy.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(nonce.len() == 32 && page.contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(!answer(&server, &get("/")).contains(nonce), "each page has its own");
    let state = answer(&server, &get("/state"));
    assert!(state.contains("content-type: application/json\r\n") && state.ends_with("\r\n\r\n{\"sequence\":0}"));
    assert!(state.contains("cache-control: no-store\r\n") && !state.contains("access-control"));
    server.send("{\"sequence\":1}");
    assert!(answer(&server, &get("/state?x=1")).ends_with("{\"sequence\":1}"));
    let head = answer(&server, "HEAD /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(head.contains("text/event-stream") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn what_is_no_request_to_read_by_a_known_name_is_refused() {
    let server = server(Limits::default());
    let status = |request: &str| {
        let text = answer(&server, request);
        text.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let with = |line: &str| format!("GET /state HTTP/1.1\r\n{line}\r\nConnection: close\r\n\r\n");
    let own = "Host: 127.0.0.1:8770";
    for (request, expected) in [
        (with(own), "200"),
        (with("Host: [::1]:9000"), "200"),
        (with("Host: evil.example.org:8770"), "403"),
        (with("Host: 192.168.1.5"), "403"),
        (with("Host: localhost\r\nHost: evil.example.org"), "403"),
        (with("X-Forwarded-Host: localhost"), "403"),
        (with(&format!("{own}\r\nOrigin: http://evil.example.org")), "403"),
        (with(&format!("{own}\r\nOrigin: null")), "403"),
        (with(&format!("{own}\r\nOrigin: http://localhost:8770")), "200"),
        (with(&format!("{own}\r\nSec-Fetch-Site: cross-site")), "403"),
        (with(&format!("{own}\r\nSec-Fetch-Site: same-origin")), "200"),
        (
            "GET http://evil.example.org/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
            "403",
        ),
        (get("/nothing"), "404"),
        (get("/../etc/passwd"), "404"),
        (get("/").replace("GET", "POST"), "405"),
        (get("/state").replace("GET", "DELETE"), "405"),
        (get("/").replace("GET", "OPTIONS"), "405"),
        ("nonsense\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(50_000)), "431"),
    ] {
        let got = status(&request);
        // What is too long may also be cut off while it is sent.
        assert!(got == expected || expected == "431" && got != "200", "{got:?} for {request:.120}");
    }
    let refused = answer(&server, &get("/").replace("GET", "PUT"));
    assert!(refused.contains("allow: GET, HEAD\r\n"), "{refused}");
}

#[test]
fn ten_watchers_get_each_state_and_one_that_never_reads_holds_nobody_up() {
    let server = server(Limits { connections: 20, patience: Duration::from_millis(2500) });
    // It says what it wants, and takes nothing of what comes.
    let idle = connect(&server, &get("/events"));
    let mut watchers: Vec<_> = (0..10).map(|_| BufReader::new(connect(&server, &get("/events")))).collect();
    for watcher in &mut watchers {
        assert_eq!(next_event(watcher)["sequence"], 0);
    }
    // More than the buffers of a connection hold.
    let filler = "x".repeat(1 << 20);
    let mut slowest = Duration::ZERO;
    for sequence in 1..=16 {
        let begun = Instant::now();
        server.send(&format!("{{\"sequence\":{sequence},\"filler\":\"{filler}\"}}"));
        for watcher in &mut watchers {
            assert_eq!(next_event(watcher)["sequence"], sequence);
        }
        slowest = slowest.max(begun.elapsed());
    }
    assert!(slowest < PATIENCE / 2, "{slowest:?}");
    // The one that never reads is cut off, and the others stay.
    let begun = Instant::now();
    while server.connections() > 10 {
        assert!(begun.elapsed() < PATIENCE, "{} connections", server.connections());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.connections(), 10);
    server.send("{\"sequence\":17}");
    assert!(watchers.iter_mut().all(|watcher| next_event(watcher)["sequence"] == 17));
    drop((idle, watchers));
    // Those who are gone are noticed.
    while server.connections() > 0 {
        assert!(begun.elapsed() < 2 * PATIENCE, "{} connections", server.connections());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_slow_watcher_skips_states_and_too_many_are_told_so() {
    let server = server(Limits { connections: 2, patience: Duration::from_secs(10) });
    let mut slow = BufReader::new(connect(&server, &get("/events")));
    let mut other = BufReader::new(connect(&server, &get("/events")));
    assert_eq!(next_event(&mut slow)["sequence"], 0);
    assert_eq!(next_event(&mut other)["sequence"], 0);
    let filler = "x".repeat(1 << 20);
    for sequence in 1..=30 {
        server.send(&format!("{{\"sequence\":{sequence},\"filler\":\"{filler}\"}}"));
        assert_eq!(next_event(&mut other)["sequence"], sequence);
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&30) {
        seen.push(next_event(&mut slow)["sequence"].as_u64().unwrap());
    }
    assert!(seen.len() < 30 && seen.is_sorted(), "{seen:?}");
    let refused = answer(&server, &get("/state"));
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.ends_with("2 connections watch already\n"), "{refused}");
}

#[test]
fn one_that_says_nothing_is_closed() {
    let server = server(Limits { connections: 2, patience: Duration::from_millis(300) });
    let mut silent = TcpStream::connect(server.address()).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut half = connect(&server, "GET / HTTP/1.1\r\nHost: local");
    let mut bytes = Vec::new();
    for stream in [&mut silent, &mut half] {
        stream.read_to_end(&mut bytes).unwrap();
    }
    assert!(!String::from_utf8_lossy(&bytes).contains("200"), "{bytes:?}");
}
