//! How soon a page shows something, and how soon it follows its threshold slider, in Chromium.
//!
//!     cargo bench --profile tools -p analysis --bench page -- results/NAME/report/index.html
#![allow(missing_docs)]

#[path = "../tests/all/browser/mod.rs"]
mod browser;

use std::path::PathBuf;

use browser::Browser;
use clap::Parser;

#[derive(Parser)]
struct BenchArguments {
    /// The page of a report.
    page: PathBuf,
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// From the start of loading until something was painted.
const FIRST_PAINT: &str = "(async () => {
  for (;;) {
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    if (paint) return paint.startTime;
    await new Promise((it) => setTimeout(it, 5));
  }
})()";

/// From the start of loading until the script has made everything.
const ALL_OF_IT: &str = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd";

/// From a move of the slider until the frame after it.
const SLIDE: &str = "(async () => {
  const slider = document.getElementById('threshold');
  slider.value = (Number(slider.value) + 1) % Number(slider.max);
  const start = performance.now();
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((it) => requestAnimationFrame(() => setTimeout(it, 0)));
  return performance.now() - start;
})()";

fn main() {
    let args = BenchArguments::parse();
    let page = args.page.canonicalize().expect("a page");
    let browser = Browser::start().expect("chromium is missing");
    browser.resize(1280, 900);
    let mut times = [(); 3].map(|()| Vec::new());
    for _ in 0..args.rounds {
        browser.open(&page, "");
        for (times, expression) in times.iter_mut().zip([FIRST_PAINT, ALL_OF_IT, SLIDE]) {
            times.push(browser.eval(expression).as_f64().expect("milliseconds"));
        }
    }
    for (name, mut times) in ["first paint", "all of it", "slider move"]
        .into_iter()
        .zip(times)
    {
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[times.len() - 1]);
        println!(
            "{name}: {:.0} ms [{least:.0} to {most:.0}]",
            times[times.len() / 2]
        );
    }
}
