//! A headless Chromium, driven over the pipe of its DevTools protocol. Crates that drive browsers compile all of that
//! protocol, which takes longer than this package does.
#![allow(dead_code, reason = "each user needs a part")]

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
    /// What the page complained about, and what it asked the network or the disk for.
    pub(crate) complaints: Vec<String>,
    pub(crate) requests: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// None if this machine has no Chromium; in CI that is a failure.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = program::program_in(program::tool_folders(), "chromium") else {
            assert_ne!(env::var("CI").as_deref(), Ok("true"), "chromium is missing");
            println!("skipped, missing: chromium");
            return None;
        };
        let profile = TempDir::new().expect("a temporary folder");
        // Chromium reads commands from descriptor 3 and writes to 4. Root has no sandbox.
        let script = r#"exec "$0" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --hide-scrollbars --remote-debugging-pipe "--user-data-dir=$1" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
        let mut process = Command::new("/bin/sh")
            .args(["-c", script])
            .args([&program, profile.path()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = process.stdin.take().expect("a pipe");
        let messages = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut browser = Browser {
            process,
            commands,
            messages,
            last_id: 0,
            session: None,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let wanted = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", wanted);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command, and returns its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser reads");
        loop {
            let mut message = self.next();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.messages
            .read_until(0, &mut bytes)
            .expect("the browser writes");
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Log.entryAdded" | "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => {
                self.complaints.push(parameters.to_string());
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
        message
    }

    /// Opens a file, with a fragment such as `#m=slow_percent`.
    pub(crate) fn open(&mut self, file: &Path, fragment: &str) {
        // Only another document is loaded.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.load(&format!("file://{}{fragment}", file.display()));
    }

    fn load(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        while self.eval("document.readyState + location.protocol") != "completefile:" {}
    }

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let wanted = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut made = self.call("Runtime.evaluate", wanted);
        assert!(made["exceptionDetails"].is_null(), "{expression}: {made}");
        made["result"]["value"].take()
    }

    /// The text of the first element that matches.
    #[track_caller]
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().expect("text").to_owned()
    }

    /// Where the middle of the element is, after scrolling there.
    #[track_caller]
    fn place(&mut self, selector: &str) -> (f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const it = document.querySelector({selector:?}); it.scrollIntoView({{block: 'center'}});
             const at = it.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; }})()"
        ));
        let number = |at: usize| place[at].as_f64().expect("a number");
        (number(0), number(1))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event);
    }

    #[track_caller]
    pub(crate) fn hover(&mut self, selector: &str) {
        let place = self.place(selector);
        self.mouse("mouseMoved", (1.0, 1.0));
        self.mouse("mouseMoved", place);
    }

    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.place(selector);
        self.mouse("mousePressed", place);
        self.mouse("mouseReleased", place);
    }

    /// A key by its name, such as `ArrowRight`.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            _ => 40,
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// As a reader prefers it: `dark` or `light`.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    pub(crate) fn without_scripts(&mut self, is_without: bool) {
        let wanted = json!({"value": is_without});
        self.call("Emulation.setScriptExecutionDisabled", wanted);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
