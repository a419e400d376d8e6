//! A headless Chromium, driven through Debian's chromedriver.
#![allow(dead_code, reason = "each user needs a part")]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::actions::{InputSource, KeyAction, KeyActions, MouseActions, PointerAction};
use fantoccini::key::Key;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, from_value, json};
use tokio::runtime::{Builder, Runtime};
use url::{ParseError, Url};

pub(crate) struct Browser {
    driver: Child,
    runtime: Runtime,
    client: Client,
}

/// A command of chromedriver that is not in the standard.
#[derive(Debug)]
struct OfChromium(&'static str, Value);

impl WebDriverCompatibleCommand for OfChromium {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/{}", self.0))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.1.to_string()))
    }
}

impl Browser {
    /// None if this machine has no Chromium or no driver of it; in CI that is a failure.
    pub(crate) fn start() -> Option<Browser> {
        let [chromium, driver] = ["chromium", "chromedriver"].map(|name| {
            let program = program::find_in(program::tool_folders(), name);
            if program.is_none() {
                assert_ne!(env::var("CI").as_deref(), Ok("true"), "{name} is missing");
                println!("skipped, missing: {name}");
            }
            program
        });
        let (chromium, driver) = (chromium?, driver?);
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let said = BufReader::new(driver.stdout.take().expect("a pipe"));
        let mut lines = said.lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let address = format!("http://127.0.0.1:{}/", port.expect("it says its port"));
        // Root has no sandbox.
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ];
        let capabilities = json!({
            "goog:chromeOptions": {"binary": chromium, "args": args},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        });
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(
            ClientBuilder::new(HttpConnector::new())
                .capabilities(from_value(capabilities).expect("an object"))
                .connect(&address),
        );
        Some(Browser {
            driver,
            runtime,
            client: client.expect("a session"),
        })
    }

    fn of_chromium(&self, path: &'static str, parameters: Value) -> Value {
        let command = OfChromium(path, parameters);
        let answer = self.runtime.block_on(self.client.issue_cmd(command));
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A command of the DevTools protocol, where the standard has none.
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        let wanted = json!({"cmd": command, "params": parameters});
        self.of_chromium("goog/cdp/execute", wanted)
    }

    fn log(&self, kind: &str) -> Vec<String> {
        let Value::Array(entries) = self.of_chromium("se/log", json!({"type": kind})) else {
            panic!("a list")
        };
        let entries = entries.into_iter();
        entries
            .filter_map(|entry| entry["message"].as_str().map(str::to_owned))
            .collect()
    }

    /// What the page complained about since the last question.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.log("browser")
    }

    /// What the page asked the network or the disk for since the last question.
    pub(crate) fn requests(&self) -> Vec<String> {
        let url = |message: String| {
            let message: Value = serde_json::from_str(&message).expect("JSON");
            let event = &message["message"];
            let is_request = event["method"] == "Network.requestWillBeSent";
            let url = event["params"]["request"]["url"].as_str();
            url.filter(|_| is_request).map(str::to_owned)
        };
        self.log("performance")
            .into_iter()
            .filter_map(url)
            .collect()
    }

    /// Opens a file, with a fragment such as `#m=slow_percent`.
    #[track_caller]
    pub(crate) fn open(&self, file: &Path, fragment: &str) {
        let page = format!("file://{}{fragment}", file.display());
        // Only another document is loaded.
        for url in ["about:blank", &page] {
            let opened = self.runtime.block_on(self.client.goto(url));
            opened.expect("it can be opened");
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

    fn perform(&self, actions: impl Into<fantoccini::actions::Actions>) {
        let performed = self.runtime.block_on(self.client.perform_actions(actions));
        performed.expect("it can be done");
    }

    #[track_caller]
    pub(crate) fn hover(&self, selector: &str) {
        self.point(selector, false);
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        self.point(selector, true);
    }

    #[track_caller]
    fn point(&self, selector: &str, is_click: bool) {
        self.eval(&format!(
            "document.querySelector({selector:?}).scrollIntoView({{block: 'center'}})"
        ));
        let element = self
            .runtime
            .block_on(self.client.find(Locator::Css(selector)));
        let element = element.expect(selector);
        let duration = Some(Duration::ZERO);
        let away = PointerAction::MoveTo {
            duration,
            x: 1.0,
            y: 1.0,
        };
        let there = PointerAction::MoveToElement {
            element,
            duration,
            x: 0.0,
            y: 0.0,
        };
        let mouse = MouseActions::new("mouse".to_owned()).then(away).then(there);
        let button = 0;
        self.perform(match is_click {
            false => mouse,
            true => mouse
                .then(PointerAction::Down { button })
                .then(PointerAction::Up { button }),
        });
    }

    /// A key, such as `Key::Right`.
    pub(crate) fn press(&self, key: Key) {
        let value = char::from(key);
        let keys = KeyActions::new("keys".to_owned());
        self.perform(
            keys.then(KeyAction::Down { value })
                .then(KeyAction::Up { value }),
        );
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
        let _ = self.runtime.block_on(self.client.clone().close());
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
