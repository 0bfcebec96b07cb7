//! A real browser without a window, driven by the DevTools protocol over a pair of pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Scratch;

const PATIENCE: Duration = Duration::from_secs(60);

/// A page of a browser.
pub(crate) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    number: u64,
    session: Option<String>,
    /// Errors that the page's script or its security policy caused.
    pub(crate) errors: Vec<String>,
    _profile: Scratch,
}

/// Returns the program of Chromium or Chrome, if there is one.
fn program() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let programs = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    programs.into_iter().find(|path| path.is_file())
}

impl Browser {
    /// Starts a browser with an empty page; `None` if there is no browser on this machine, which is said.
    #[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("SKIPPED for want of a peer: no Chromium or Chrome is on the PATH");
            return None;
        };
        let profile = Scratch::new("browser");
        // The protocol is spoken over the file descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"]).arg(program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--remote-debugging-pipe", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", profile.path("profile"))).arg("about:blank");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = child.stdin.take().unwrap();
        let mut pipe = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            while pipe.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                bytes.pop();
                let _ = sender.send(serde_json::from_slice(&bytes).unwrap());
                bytes.clear();
            }
        });
        let mut browser =
            Self { child, requests, answers, number: 0, session: None, errors: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, &json!({}));
        }
        Some(browser)
    }

    /// Sends a request, and returns the result.
    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut request = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect("the browser answers");
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            let is_error = answer["method"] == "Log.entryAdded" && answer["params"]["entry"]["level"] == "error";
            if is_error || answer["method"] == "Runtime.exceptionThrown" {
                self.errors.push(answer["params"].to_string());
            }
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.ask("Page.navigate", &json!({ "url": url }));
    }

    /// Returns the value of an expression of JavaScript.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", &parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression of JavaScript is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(&format!("Boolean({expression})")) != true {
            let shown = self.value("document.body.innerText");
            assert!(begun.elapsed() < PATIENCE, "{expression} is not true of\n{}", shown.as_str().unwrap_or("nothing"));
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key: a letter, or one with a name such as `ArrowDown`.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { key };
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        if key.chars().count() == 1 || key == "Enter" {
            down["text"] = json!(text);
        }
        self.ask("Input.dispatchKeyEvent", &down);
        self.ask("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code }));
    }

    /// Gives the page a size in pixels: that of a phone, which is touched, or of a window.
    pub(crate) fn resize(&mut self, width: u32, height: u32, is_phone: bool) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
