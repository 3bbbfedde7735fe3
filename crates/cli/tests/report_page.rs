//! The page of a report as a browser takes it: its script runs, sorts, zooms and reads out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::{run, runs_dir};
use serde_json::Value;
use tempfile::TempDir;

/// Script that operates the page, and writes the answers into an element that is read afterwards.
const DRIVER: &str = r#"<script>
(() => {
  const said = {};
  const table = [...document.querySelectorAll("table")].find((one) => !one.closest("details"));
  const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent);
  const head = table.tHead.rows[0].cells[1];
  said.before = column();
  head.querySelector("button").click();
  said.rising = column();
  said.sort = head.getAttribute("aria-sort");
  head.querySelector("button").click();
  said.falling = column();
  const svg = document.querySelector("svg.wide");
  const tools = svg.nextElementSibling;
  said.charts = document.querySelectorAll("figure").length;
  said.whole = svg.getAttribute("viewBox");
  tools.querySelector("button").click();
  said.zoomed = svg.getAttribute("viewBox");
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  said.back = svg.getAttribute("viewBox");
  svg.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, clientX: 100, clientY: 100, bubbles: true, cancelable: true }));
  said.scrolled = svg.getAttribute("viewBox");
  svg.focus();
  svg.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, clientX: 100, clientY: 100, bubbles: true, cancelable: true }));
  said.wheeled = svg.getAttribute("viewBox");
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  said.told = tools.querySelector("output").textContent;
  const ring = svg.querySelector("circle").getBoundingClientRect();
  const at = { clientX: ring.x + ring.width / 2, clientY: ring.y + ring.height / 2, bubbles: true };
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  svg.dispatchEvent(new PointerEvent("pointermove", at));
  said.hovered = tools.querySelector("output").textContent;
  const box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + box.width * 0.6, clientY: box.y + box.height * 0.15, bubbles: true }));
  said.anywhere = tools.querySelector("output").textContent;
  const words = [];
  for (let at = 0; at < 60; at++) {
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    words.push(tools.querySelector("output").textContent);
  }
  said.intervals = words.filter((text) => /^median: .* \([\d.]+ MB.s to [\d.]+ MB.s\)$/.test(text)).length;
  said.saves = document.querySelectorAll("a[download]").length;
  said.wide = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  said.errors = window.failures;
  const answer = document.createElement("pre");
  answer.id = "driver";
  answer.textContent = JSON.stringify(said);
  document.body.append(answer);
})();
</script></body>"#;

/// Puts down every error of a script, ours among them.
const LISTENER: &str = "<head><script>window.failures = []; \
    window.addEventListener('error', (event) => window.failures.push(event.message));</script>";

/// The page after its scripts have run; `None` if there is no browser.
fn dumped(page: &Path, width: u32) -> Option<String> {
    let profile = TempDir::new().unwrap();
    let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
        found.is_ok_and(|found| found.status.success())
    })?;
    let mut command = Command::new("timeout");
    command.args(["60", chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("--window-size={width},900"));
    command.arg(format!("file://{}", page.display()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A browser ends after it has printed; its profile is removed when it is gone.
    std::thread::sleep(Duration::from_millis(100));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Breaks when the page's script fails or is not run by a browser, since the checksum is another: nothing could be sorted,
/// zoomed or read out.
#[test]
fn a_browser_sorts_zooms_and_reads_out() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("page.html");
    let line = "mark sim:sata-a --tests=SEQ1MQ8T1,RND4KQ1T1,RND4KQ32T1 --duration=50ms --warm-up=5ms \
                --pause=1ms --seed=7 --no-progress";
    assert!(matches!(run(line.split_whitespace()).code, Some(0 | 1)), "{}", runs_dir().display());
    run(["report", "last", &format!("--output={}", path.display())]).exits(0);
    let Some(taken) = dumped(&path, 1200) else {
        println!("skipped: chromium is not installed");
        return;
    };
    let html = fs::read_to_string(&path).unwrap();
    let figures = html.matches("<figure ").count();
    assert_eq!(
        taken.matches("class=\"tools wide\"").count(),
        figures,
        "the script was run as it is"
    );

    let (before, rest) = html.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let (_, after) = rest.split_once('>').unwrap();
    let driven = format!("{before}{after}").replacen("<head>", LISTENER, 1);
    let driven = driven.replacen("</body>", DRIVER, 1);
    fs::write(&path, driven).unwrap();
    for width in [1200, 390] {
        let taken = dumped(&path, width).unwrap();
        let (_, said) = taken.split_once("<pre id=\"driver\">").expect("the driver answered");
        let said = said.split_once("</pre>").unwrap().0.replace("&lt;", "<").replace("&gt;", ">");
        let said: Value = serde_json::from_str(&said.replace("&amp;", "&")).unwrap();
        judge(&said, figures, width);
    }
}

fn judge(said: &Value, figures: usize, width: u32) {
    assert_eq!(said["errors"], Value::Array(vec![]), "{said}");
    assert_eq!(said["charts"], figures, "{said}");
    let numbers = |which: &str| -> Vec<f64> {
        let texts = said[which].as_array().unwrap().iter();
        texts.map(|text| text.as_str().unwrap().parse().unwrap()).collect()
    };
    let mut sorted = numbers("before");
    sorted.sort_by(f64::total_cmp);
    assert_ne!(numbers("before"), sorted, "there was something to sort: {said}");
    assert_eq!(numbers("rising"), sorted, "{said}");
    sorted.reverse();
    assert_eq!(numbers("falling"), sorted, "{said}");
    assert_eq!(said["sort"], "ascending");
    assert_ne!(said["zoomed"], said["whole"], "{said}");
    assert_eq!(said["back"], said["whole"], "{said}");
    assert_eq!(
        said["scrolled"], said["whole"],
        "the wheel is the page's until the chart is chosen"
    );
    assert_eq!(said["saves"], 1, "{said}");
    assert_eq!(said["wide"], true, "tables scroll in themselves, and never the page: {said}");
    let told = said["told"].as_str().unwrap();
    assert!(
        told.contains("Test ") && told.contains("Throughput") && told.contains("MB/s"),
        "{told}"
    );
    assert!(said["intervals"].as_u64().unwrap() > 0, "{said}");
    // In a narrow window the wide chart is not shown, and has no place for a pointer.
    if width > 640 {
        assert_ne!(said["wheeled"], said["whole"], "{said}");
        let anywhere = said["anywhere"].as_str().unwrap();
        assert!(anywhere.contains("Throughput") && !anywhere.starts_with("at "), "{said}");
        assert_eq!(
            said["hovered"], said["told"],
            "what lies under the pointer is read out: {said}"
        );
    }
}
