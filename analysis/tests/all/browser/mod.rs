//! A headless Chromium, driven over a pipe with the DevTools protocol.
#![allow(dead_code, reason = "each user needs a part")]

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, io};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Browser {
    chromium: Child,
    pipe: RefCell<Pipe>,
    _profile: TempDir,
}

/// A key, by its name in the DevTools protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    ArrowLeft = 37,
    ArrowRight = 39,
    Enter = 13,
    Escape = 27,
}

impl Browser {
    /// None if this machine has no Chromium; in CI that is a failure.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = program::find_in(program::tool_folders(), "chromium") else {
            assert_ne!(env::var("CI").as_deref(), Ok("true"), "chromium is missing");
            println!("skipped, missing: chromium");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        // Chromium reads commands from descriptor 3 and writes answers to 4. Root has no sandbox. No test takes ten minutes.
        let script = r#"exec timeout 600 "$0" "$@" 3<&0 4>&1 < /dev/null > /dev/null 2>&1"#;
        let mut chromium = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromium starts");
        let mut pipe = Pipe {
            commands: chromium.stdin.take().expect("a pipe"),
            messages: BufReader::new(chromium.stdout.take().expect("a pipe")),
            session: Value::Null,
            sent: 0,
            events: Vec::new(),
        };
        let target = pipe.call("Target.createTarget", json!({"url": "about:blank"}));
        let wanted = json!({"targetId": target["targetId"], "flatten": true});
        pipe.session = pipe.call("Target.attachToTarget", wanted)["sessionId"].take();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            pipe.call(&format!("{domain}.enable"), json!({}));
        }
        Some(Browser {
            chromium,
            pipe: RefCell::new(pipe),
            _profile: profile,
        })
    }

    /// A command of the DevTools protocol.
    #[track_caller]
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.pipe.borrow_mut().call(command, parameters)
    }

    /// Takes the events of these kinds out of those that came so far.
    fn take_events(&self, methods: &[&str]) -> Vec<Value> {
        // The page answers in order, so all its events of before have come when this is answered.
        self.eval("0");
        let events = &mut self.pipe.borrow_mut().events;
        let is_wanted = |event: &mut Value| methods.iter().any(|method| event["method"] == *method);
        let taken = events.extract_if(.., is_wanted);
        taken.map(|mut event| event["params"].take()).collect()
    }

    /// What the page complained about since the last question.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let events = self.take_events(&[
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ]);
        events.iter().map(Value::to_string).collect()
    }

    /// What the page asked the network or the disk for since the last question.
    pub(crate) fn requests(&self) -> Vec<String> {
        let events = self.take_events(&["Network.requestWillBeSent"]);
        let url = |event: &Value| event["request"]["url"].as_str().expect("a text").to_owned();
        events.iter().map(url).collect()
    }

    /// Opens a file, with a fragment such as `#m=slow_percent`.
    #[track_caller]
    pub(crate) fn open(&self, file: &Path, fragment: &str) {
        let page = format!("file://{}{fragment}", file.display());
        // Only another document is loaded.
        for url in ["about:blank", &page] {
            self.devtools("Page.navigate", json!({"url": url}));
            self.pipe.borrow_mut().wait_for("Page.loadEventFired");
        }
    }

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let wanted = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut made = self.devtools("Runtime.evaluate", wanted);
        assert!(made["exceptionDetails"].is_null(), "{expression}: {made}");
        made["result"]["value"].take()
    }

    /// The text of the first element that matches.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().expect("text").to_owned()
    }

    #[track_caller]
    pub(crate) fn hover(&self, selector: &str) {
        self.point_at(selector);
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        let place = self.point_at(selector);
        for what in ["mousePressed", "mouseReleased"] {
            self.mouse(what, &place);
        }
    }

    /// Moves the mouse to the middle of the first element that matches. Returns where that is.
    #[track_caller]
    fn point_at(&self, selector: &str) -> [f64; 2] {
        let middle = self.eval(&format!(
            "(() => {{
                const element = document.querySelector({selector:?});
                element.scrollIntoView({{block: 'center'}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"
        ));
        let place = [0, 1].map(|at| middle[at].as_f64().expect("a number"));
        self.mouse("mouseMoved", &[1.0, 1.0]);
        self.mouse("mouseMoved", &place);
        place
    }

    fn mouse(&self, what: &str, [x, y]: &[f64; 2]) {
        let button = if what == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": what, "x": x, "y": y, "button": button, "clickCount": 1});
        self.devtools("Input.dispatchMouseEvent", event);
    }

    pub(crate) fn press(&self, key: Key) {
        let name = format!("{key:?}");
        let text = match key {
            Key::Enter => "\r",
            _ => "",
        };
        for (what, text) in [("keyDown", text), ("keyUp", "")] {
            let event = json!({
                "type": what, "key": name, "code": name, "text": text,
                "windowsVirtualKeyCode": key as u8,
            });
            self.devtools("Input.dispatchKeyEvent", event);
        }
    }

    pub(crate) fn type_text(&self, text: &str) {
        self.devtools("Input.insertText", json!({"text": text}));
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// As a reader prefers it: `dark` or `light`.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features);
    }

    pub(crate) fn without_scripts(&self) {
        self.devtools(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": true}),
        );
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // After a test that failed chromium may be gone already.
        let _ = self.pipe.get_mut().send("Browser.close", &json!({}));
        let _ = self.chromium.wait();
    }
}

/// The two ends of the pipe. Each message is JSON and ends with a zero byte.
struct Pipe {
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    /// The session of the page. Null before there is one.
    session: Value,
    sent: u64,
    /// The events that came while something else was awaited.
    events: Vec<Value>,
}

impl Pipe {
    fn send(&mut self, method: &str, parameters: &Value) -> io::Result<u64> {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        write!(self.commands, "{command}\0")?;
        Ok(self.sent)
    }

    #[track_caller]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.send(method, &parameters).expect("chromium lives");
        let mut answer = self.next(|message| message["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    #[track_caller]
    fn wait_for(&mut self, event: &str) {
        let came = self.events.iter().position(|seen| seen["method"] == event);
        match came {
            Some(at) => self.events.remove(at),
            None => self.next(|message| message["method"] == event),
        };
    }

    /// Reads messages up to the one that is wanted, and keeps the events before it.
    #[track_caller]
    fn next(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut message = Vec::new();
            self.messages.read_until(0, &mut message).expect("a pipe");
            assert_eq!(message.pop(), Some(0), "chromium has ended");
            let message: Value = serde_json::from_slice(&message).expect("JSON");
            if is_wanted(&message) {
                return message;
            }
            self.events.push(message);
        }
    }
}
