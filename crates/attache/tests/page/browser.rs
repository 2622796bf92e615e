//! A real Chromium, driven by the DevTools protocol over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The timeout of the browser. A busy machine is slow; a test that passes does not wait.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    input: ChildStdin,
    replies: Receiver<Value>,
    next: u64,
    _child: Child,
    _profile: TempDir,
}

/// A tab with its own session. There is one at a time, because the browser slows down background tabs.
pub struct Tab {
    session: String,
    context: Value,
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

impl Drop for Tab {
    fn drop(&mut self) {
        // A page that stays open would continue to contact a server that has ended.
        if !thread::panicking() {
            browser().call(None, "Target.disposeBrowserContext", json!({"browserContextId": self.context}));
        }
    }
}

static BROWSER: OnceLock<Option<Mutex<Browser>>> = OnceLock::new();

/// A new tab; `None` without Chromium. With `CI=true` it is required.
pub fn tab() -> Option<Tab> {
    let browser = BROWSER.get_or_init(|| Browser::start().map(Mutex::new));
    if browser.is_none() {
        assert!(env::var("CI").is_err(), "there is no Chromium: crates/attache/tests/page/install installs it");
        eprintln!("left out: there is no Chromium");
        return None;
    }
    Some(Tab::new(TURN.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn browser() -> MutexGuard<'static, Browser> {
    let browser = BROWSER.get().and_then(Option::as_ref).expect("a browser");
    browser.lock().unwrap_or_else(PoisonError::into_inner)
}

fn program() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let installed = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.into_iter().chain(installed).find(|path| path.is_file())
}

impl Browser {
    fn start() -> Option<Browser> {
        let program = program()?;
        let profile = TempDir::new().unwrap();
        // The protocol uses descriptors 3 and 4. When our end of the pipe is closed, Chromium ends.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let value: Value = serde_json::from_slice(&message).unwrap();
                message.clear();
                if value.get("id").is_some() && sender.send(value).is_err() {
                    return;
                }
            }
        });
        Some(Browser { input, replies, next: 0, _child: child, _profile: profile })
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.try_call(session, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.input.flush().unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let reply = self.replies.recv_timeout(left).unwrap_or_else(|_| panic!("no reply to {method}"));
            if reply["id"] == id {
                return reply.get("error").map_or_else(|| Ok(reply["result"].clone()), |error| Err(error.clone()));
            }
        }
    }
}

/// Records violations of the content security policy.
const RECORD_VIOLATIONS: &str = "window.violations = []; document.addEventListener('securitypolicyviolation', \
     (it) => window.violations.push(`${it.violatedDirective} ${it.blockedURI} ${it.sample}`));";

impl Tab {
    fn new(turn: MutexGuard<'static, ()>) -> Tab {
        let mut browser = browser();
        let context = browser.call(None, "Target.createBrowserContext", json!({}))["browserContextId"].clone();
        let target = json!({"url": "about:blank", "browserContextId": context, "width": 1280, "height": 900});
        let target = browser.call(None, "Target.createTarget", target)["targetId"].clone();
        let attached = browser.call(None, "Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        drop(browser);
        let tab = Tab { session, context, _turn: turn };
        tab.call("Page.enable", json!({}));
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": RECORD_VIOLATIONS}));
        tab.resize(1280, 900);
        tab
    }

    pub fn call(&self, method: &str, params: Value) -> Value {
        browser().call(Some(&self.session), method, params)
    }

    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub fn dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The style of paper.
    pub fn print_media(&self) {
        self.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    }

    /// How many bytes the page has as a PDF.
    pub fn pdf(&self) -> usize {
        decoded(self.call("Page.printToPDF", json!({}))["data"].as_str().unwrap()).len()
    }

    pub fn allow_clipboard(&self, origin: &str) {
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let params = json!({"origin": origin, "permissions": permissions, "browserContextId": self.context});
        browser().call(None, "Browser.grantPermissions", params);
    }

    pub fn without_script(&self) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    }

    /// Opens an address, and waits until the page is loaded.
    pub fn goto(&self, address: &str) {
        self.eval("window.left = true");
        self.call("Page.navigate", json!({"url": address}));
        self.wait("window.left !== true && document.readyState === 'complete'");
    }

    /// The value of an expression. A promise is awaited.
    pub fn eval(&self, expression: &str) -> Value {
        let params =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        let guarded = format!("(() => {{ try {{ return !!({expression}) }} catch {{ return false }} }})()");
        while !self.try_eval(&guarded).is_some_and(|value| value == json!(true)) {
            assert!(Instant::now() < deadline, "waited in vain for {expression} in:\n{}", self.text());
            thread::sleep(Duration::from_millis(25));
        }
    }

    /// The same as `eval`; `None` while the page is being replaced.
    fn try_eval(&self, expression: &str) -> Option<Value> {
        let params = json!({"expression": expression, "returnByValue": true});
        let result = browser().try_call(Some(&self.session), "Runtime.evaluate", params);
        result.ok().map(|result| result["result"]["value"].clone())
    }

    /// Waits until a text is on the page.
    pub fn wait_for(&self, text: &str) {
        self.wait(&format!("document.body.innerText.includes({})", json!(text)));
    }

    pub fn text(&self) -> String {
        self.eval("document.body ? document.body.innerText : ''").as_str().unwrap_or_default().to_owned()
    }

    pub fn path(&self) -> String {
        self.eval("location.pathname + location.search").as_str().unwrap().to_owned()
    }

    /// Clicks the first visible element that matches a selector.
    pub fn click(&self, selector: &str) {
        self.click_element(&format!("[...document.querySelectorAll({})]", json!(selector)));
    }

    /// Clicks the first visible link, button or summary with a text, or with a text that contains it.
    pub fn click_text(&self, text: &str) {
        let text = json!(text);
        self.click_element(&format!(
            "(() => {{ const all = [...document.querySelectorAll('main a, main button, main summary, #results a, header a')];
               const said = (it) => it.textContent.trim().replace(/\\s+/g, ' ');
               return [...all.filter((it) => said(it) === {text}), ...all.filter((it) => said(it).includes({text}))]; }})()"
        ));
    }

    fn click_element(&self, elements: &str) {
        let seen = format!("{elements}.find((it) => it.getClientRects().length)");
        self.wait(&seen);
        let place = self.eval(&format!(
            "(() => {{ const it = {seen}; it.scrollIntoView({{block: 'center', inline: 'center'}}); const at = it.getClientRects()[0];
               return [at.left + Math.min(at.width / 2, 30), at.top + at.height / 2]; }})()"
        ));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Moves the pointer away from all elements.
    pub fn leave(&self) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": 1, "y": 1}));
    }

    pub fn write(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    pub fn press(&self, key: &str) {
        self.press_with(key, 0);
    }

    pub fn press_with_control(&self, key: &str) {
        self.press_with(key, 2);
    }

    fn press_with(&self, key: &str, modifiers: u8) {
        let codes =
            [("Enter", 13), ("Escape", 27), ("ArrowDown", 40), ("ArrowUp", 38), ("/", 191), ("k", 75), ("Tab", 9)];
        let code = codes.iter().find(|(name, _)| *name == key).map_or(0, |(_, code)| *code);
        let text = match key {
            "Enter" => "\r",
            key if key.len() == 1 && modifiers == 0 => key,
            _ => "",
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for (kind, text) in [(down, text), ("keyUp", "")] {
            let event =
                json!({"type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text, "modifiers": modifiers});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// The findings of the accessibility checker. None if it is not installed; with `CI=true` it is required.
    pub fn inaccessible(&self) -> Vec<String> {
        let Some(checker) = axe() else { return Vec::new() };
        self.eval(&format!("{checker}; true"));
        let found = self.eval(
            "axe.run(document, {resultTypes: ['violations']}).then((it) => it.violations.flatMap((rule) => \
             rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))",
        );
        found.as_array().unwrap().iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The violations of the content security policy.
    pub fn violations(&self) -> Vec<String> {
        let found = self.eval("window.violations || []");
        found.as_array().unwrap().iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Saves the page as a picture.
    pub fn picture(&self, file: &Path) {
        let data = self.call("Page.captureScreenshot", json!({"format": "webp", "quality": 75}));
        fs::write(file, decoded(data["data"].as_str().unwrap())).unwrap();
    }
}

/// axe-core, from the cache.
fn axe() -> Option<&'static str> {
    static AXE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache/attache"));
        let cache = env::var_os("ATTACHE_CACHE").map(PathBuf::from).or(home)?;
        fs::read_to_string(cache.join("axe-core/package/axe.min.js")).ok()
    };
    let found = AXE.get_or_init(read).as_deref();
    if found.is_none() {
        assert!(env::var("CI").is_err(), "there is no axe-core: crates/attache/tests/page/install installs it");
        eprintln!("left out: there is no axe-core, which checks accessibility");
    }
    found
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    digits
        .chunks(4)
        .flat_map(|group| {
            let bits = group.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - group.len()));
            bits.to_be_bytes()[1..group.len()].to_vec()
        })
        .collect()
}
