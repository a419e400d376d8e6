//! The page in a real browser: it shows the figures of the tables, and reacts to its reader.

use std::fs;
use std::path::PathBuf;

use crate::browser::{Browser, Key};
use crate::fixture::{self, FixtureCopy, Row, analysis, compared, edit, path, set_column};
use crate::golden::of_subjects;
use serde_json::Value;

const CELL: &str = "pl065536_rtt000_n02";

/// Makes a report. Returns the path of its page.
fn made(copy: &FixtureCopy) -> PathBuf {
    copy.report(&["--format", "svg"]).succeeds();
    copy.dir().join("report/index.html")
}

/// A report's page in a browser with a large window.
fn opened(fragment: &str) -> Option<(FixtureCopy, Browser)> {
    let browser = Browser::start()?;
    let copy = FixtureCopy::new();
    browser.resize(1280, 900);
    browser.open(&made(&copy), fragment);
    Some((copy, browser))
}

/// A row of `summary.csv`, by column.
fn row(copy: &FixtureCopy, variant: &str, metric: &str) -> Vec<String> {
    let table = copy.text("summary.csv");
    let start = format!("2,0.0,65536,{variant},{metric},");
    let rest = table.lines().find_map(|line| line.strip_prefix(&start));
    rest.expect("a row")
        .split(',')
        .map(|field| field.replace('-', "−"))
        .collect()
}

/// The text that is shown while the pointer is over a cell of the grid.
fn hovered(browser: &Browser, variant: usize) -> String {
    browser.hover(&format!(
        ".cell[data-cell={CELL}][data-variant='{variant}']"
    ));
    browser.text("#hover")
}

#[test]
fn it_loads_without_a_complaint_and_asks_nobody_for_anything() {
    let Some((copy, browser)) = opened("") else {
        return;
    };
    assert_eq!(browser.eval("document.querySelectorAll('.cell').length"), 2);
    browser.click(&format!(".cell[data-cell={CELL}]"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let own = format!("file://{}/report/index.html", copy.dir().display());
    let mut others = browser.requests();
    others.retain(|url| !url.starts_with("data:") && url != "about:blank");
    assert_eq!(others, [own]);
}

/// The lines that a cell shows while the pointer is over it, made from a row of `summary.csv`.
fn lines_of(copy: &FixtureCopy, variant: &str, metric: &str) -> Vec<String> {
    let fields = row(copy, variant, metric).into_iter();
    let fields: Vec<String> = fields
        .map(|field| field.trim_end_matches(".0").to_owned())
        .collect();
    let signed = |field: &String| match field.starts_with('−') {
        true => field.clone(),
        false => format!("+{field}"),
    };
    let level = format!("{variant}: {} [{}, {}]", fields[0], fields[1], fields[2]);
    let change = || {
        let [change, low, high] = [3, 4, 5].map(|at| signed(&fields[at]));
        format!("change: {change} [{low}, {high}]")
    };
    let resolved = match &*fields[6] {
        "no" => "not resolved".to_owned(),
        direction => format!("resolved, {direction}"),
    };
    match fields[3].is_empty() {
        true => vec![level],
        false => vec![level, change(), resolved],
    }
}

const VARIANTS: [&str; 3] = ["none", "none (A/A)", "muxer=1/deferred"];

#[test]
fn numbers_are_those_of_the_table() {
    let Some((copy, browser)) = opened("#w=after&v=-1") else {
        return;
    };
    for metric in [
        "connection,beyond_ms_per_s",
        "connection,slow_percent",
        "connection,slow_per_request",
        ",cotenant_late_percent",
    ] {
        let name = metric.split(',').next_back().expect("a name");
        browser.eval(&format!(
            "location.hash = '#w=after&v=-1&m={name}'; new Promise((it) => setTimeout(it, 50))"
        ));
        for (at, variant) in VARIANTS.into_iter().enumerate() {
            let shown = hovered(&browser, at);
            for line in lines_of(&copy, variant, metric) {
                assert!(shown.contains(&line), "{shown:?} has not {line:?}");
            }
        }
    }
}

#[test]
fn the_slider_shows_the_time_beyond_as_a_report_with_its_threshold_does() {
    let Some((copy, browser)) = opened("#w=after&v=-1&m=beyond_ms_per_s") else {
        return;
    };
    let cells = || [0, 1, 2].map(|at| hovered(&browser, at));
    let rows = "[...document.querySelectorAll('.effects tbody tr')].filter((row) => !row.hidden)
        .map((row) => [...row.children].map((field) => field.textContent.trim()).join(' | '))";
    let slide = |key: Key| {
        browser.eval("document.getElementById('threshold').focus()");
        browser.press(key);
    };
    let (cells_at_50, table) = (cells(), browser.eval(rows));
    slide(Key::ArrowLeft);
    assert_eq!(browser.text("#threshold-text"), "30 µs");
    let (cells_at_30, table_at_30) = (cells(), browser.eval(rows));
    assert_eq!(table_at_30[1], table[1], "only the first row follows");
    slide(Key::ArrowRight);
    assert_eq!((cells(), browser.eval(rows)), (cells_at_50, table));

    copy.report(&["--format", "svg", "--threshold", "30us"])
        .succeeds();
    let report = copy.text("report.md").replace("**", "");
    let mut lines = report.lines();
    let row = lines.find(|line| line.starts_with("| time beyond 30 µs"));
    let shown = table_at_30[0].as_str().expect("a row");
    let shown = format!("| {} |", shown.replace('\u{a0}', " "));
    assert_eq!(row, Some(&*shown), "the report has the same row");
    for (variant, shown) in VARIANTS.into_iter().zip(cells_at_30) {
        for line in lines_of(&copy, variant, "connection,beyond_ms_per_s") {
            assert!(shown.contains(&line), "{shown:?} has not {line:?}");
        }
    }
}

/// The colour and the value of a cell, without white space.
fn plain(cell: &str) -> String {
    cell.split_whitespace().collect()
}

#[test]
fn the_grid_has_the_colours_and_the_words_of_the_picture() {
    let Some((copy, browser)) = opened("#m=slow_percent&v=2") else {
        return;
    };
    let picture = copy.text("charts/before-after.slow-percent.connection.muxer-1-deferred.svg");
    // Every cell is a rectangle on a grey one, which shows at its edges.
    let drawn = picture.split("fill=\"#C0C0C0\"").skip(1).map(|cell| {
        let (_, rest) = cell.split_once("fill=\"#").expect("a colour");
        let (_, text) = rest.split_once("<text").expect("its value");
        let (_, text) = text.split_once('>').expect("its words");
        let words = plain(text.split("</").next().unwrap_or_default());
        let colour = u32::from_str_radix(&rest[..6], 16).expect("a colour");
        let [_, red, green, blue] = colour.to_be_bytes();
        format!("rgb({red},{green},{blue}){words}")
    });
    let drawn: Vec<String> = drawn.collect();
    assert_eq!(drawn.len(), 6);
    // The picture has the three views of a payload beside each other.
    for (at, view) in ["before", "after", "difference"].into_iter().enumerate() {
        browser.click(&format!("[name=view][value={view}]"));
        let shown = browser.eval(
            "[...document.querySelectorAll('.cell')].map((it) => getComputedStyle(it.children[0]).fill + it.textContent)",
        );
        let shown = shown.as_array().expect("a list").iter();
        let shown: Vec<String> = shown
            .map(|cell| plain(cell.as_str().unwrap_or_default()))
            .collect();
        let in_view: Vec<&String> = drawn.iter().skip(at).step_by(3).collect();
        assert_eq!(shown.iter().collect::<Vec<_>>(), in_view, "{view}");
    }
}

#[test]
fn the_address_keeps_what_is_shown_and_the_filters_leave_cells_out() {
    let Some((copy, browser)) = opened("#m=requests_per_s&w=difference") else {
        return;
    };
    assert_eq!(
        browser.eval("document.getElementById('metric').value"),
        "requests_per_s"
    );
    assert_eq!(
        browser.eval("document.querySelector('[name=view]:checked').value"),
        "difference"
    );
    assert_eq!(
        browser.eval("document.getElementById('slider').hidden"),
        true,
        "the throughput has no threshold"
    );
    browser.eval("document.getElementById('more-controls').open = true");
    browser.click("[data-filter=hiddenPayload][value='0']");
    browser.click("[name=view][value=after]");
    browser.click(&format!(".cell[data-cell={CELL}]"));
    let hash = browser.eval("location.hash");
    let fragment = hash.as_str().expect("text");
    for part in ["m=requests_per_s", "w=after", "hp=0", &format!("c={CELL}")] {
        assert!(fragment.contains(part), "{fragment}");
    }
    let shown = "[...document.querySelectorAll('.cell')].map((it) => it.dataset.cell).join()";
    assert_eq!(browser.eval(shown), CELL);
    let file = copy.dir().join("report/index.html");
    browser.open(&file, fragment);
    assert_eq!(browser.eval(shown), CELL);
    assert_eq!(browser.text("#cell-title"), "2 peers, RTT 0 ms, 64 KiB");
    // An address that asks for what is not there shows the usual.
    browser.open(&file, "#m=nothing&v=99&w=x&t=1&o=77&c=y&s=z");
    assert_eq!(browser.eval("document.querySelectorAll('.cell').length"), 2);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_keyboard_moves_opens_and_closes() {
    let Some((_copy, browser)) = opened("#w=before&v=0") else {
        return;
    };
    browser.eval(&format!(
        "document.querySelector('.cell[data-cell={CELL}]').focus()"
    ));
    assert_eq!(
        browser.eval("document.getElementById('hover').hidden"),
        false
    );
    browser.press(Key::Enter);
    assert_eq!(browser.eval("document.activeElement.id"), "cell");
    assert!(
        browser
            .eval("document.querySelectorAll('#cell svg').length")
            .as_u64()
            >= Some(3)
    );
    browser.press(Key::Escape);
    assert_eq!(browser.eval("document.getElementById('cell').hidden"), true);
    assert_eq!(browser.eval("document.activeElement.dataset.cell"), CELL);
    let unnamed = "[...document.querySelectorAll('button, select, input, [role=button], svg')]
        .filter((it) => !it.closest('[hidden]') && !it.getAttribute('aria-label') && !it.labels?.length
          && !it.textContent.trim()).length";
    assert_eq!(browser.eval(unnamed), 0);
}

#[test]
fn bars_below_the_blocks_of_subjects_are_of_the_same_blocks() {
    const BLOCKS: usize = 5;
    let copy = of_subjects(1);
    // The second subject lacks two launches, so these blocks of the first one are not compared.
    let cell = copy.dir().join("cells").join(CELL);
    for launch in ["s1-run-2", "s1-run-4"] {
        fs::remove_dir_all(cell.join(launch)).expect("it is there");
    }
    // Central waited for another part of the time in each block of the first subject.
    let percent = |number: usize, block: usize| 2 * (BLOCKS * (number - 1) + block);
    for number in 1..=5 {
        let file = cell.join(format!("s0-run-{number}/blocks.csv"));
        set_column(&file, "central_runqueue_ns", |row| {
            let ms: f64 = row["duration_ms"].parse().ok()?;
            let percent = percent(number, row["block"].parse().ok()?);
            Some(format!("{:.0}", ms * 1e6 * percent as f64 / 100.0))
        });
        set_column(&file, "central_core_steal_ms", |_| Some("0".to_owned()));
    }
    let file = made(&copy);
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&file, &format!("#c={CELL}"));
    let plot = "[...document.querySelectorAll('#cell figure')].find((it) => it.querySelector('rect.waited'))";
    let caption = browser.eval(&format!("{plot}.querySelector('figcaption').textContent"));
    let caption = caption.as_str().expect("text");
    assert!(
        caption.ends_with("; 3 launches follow each other"),
        "{caption}"
    );
    let dots = browser.eval(&format!("{plot}.querySelectorAll('circle').length"));
    assert_eq!(dots, 3 * BLOCKS * 2 * VARIANTS.len());
    let heights = browser.eval(&format!(
        "[...{plot}.querySelectorAll('rect.waited')].map((it) => Number(it.getAttribute('height')))"
    ));
    let heights: Vec<f64> = serde_json::from_value(heights).expect("numbers");
    let blocks = [1, 3, 5].into_iter();
    let blocks = blocks.flat_map(|number| (1..=BLOCKS).map(move |block| (number, block)));
    let share = |(number, block)| percent(number, block) as f64 / percent(5, BLOCKS) as f64;
    let expected: Vec<f64> = blocks.map(|block| 30.0 * share(block)).collect();
    assert_eq!(heights.len(), expected.len(), "a bar belongs to each block");
    for (height, expected) in heights.iter().zip(&expected) {
        assert!((height - expected).abs() < 0.1, "{heights:?} {expected:?}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_table_sorts_and_filters() {
    let Some((copy, browser)) = opened("#d=0&k=0") else {
        return;
    };
    let count = |browser: &Browser| {
        let caption = browser.text("#comparisons caption");
        caption
            .split(' ')
            .next()
            .and_then(|count| count.parse::<usize>().ok())
            .expect("a number")
    };
    let table = copy.text("summary.csv");
    let resolved = |line: &&str| !line.ends_with(',');
    assert_eq!(
        count(&browser),
        table.lines().skip(1).filter(resolved).count()
    );
    browser.click("#resolved");
    let is_resolved = |line: &&str| line.ends_with(",lower") || line.ends_with(",higher");
    assert_eq!(count(&browser), table.lines().filter(is_resolved).count());
    browser.eval("document.getElementById('words').focus()");
    browser.type_text("64 throughput");
    let with_words = |line: &&str| {
        is_resolved(line) && line.contains(",65536,") && line.contains("requests_per_s")
    };
    assert_eq!(count(&browser), table.lines().filter(with_words).count());
    browser.open(&copy.dir().join("report/index.html"), "#d=0&k=0&o=-6");
    let sizes = "[...document.querySelectorAll('#comparisons tbody td:nth-child(6)')].map((it) => parseFloat(it.textContent))
        .filter((it) => !Number.isNaN(it))";
    let Value::Array(sizes) = browser.eval(sizes) else {
        panic!("a list")
    };
    let sizes: Vec<f64> = sizes.iter().filter_map(Value::as_f64).collect();
    assert!(sizes.len() > 10 && sizes.is_sorted(), "{sizes:?}");
}

#[test]
fn it_is_dark_where_readers_want_that_and_fits_a_narrow_window() {
    let Some((copy, browser)) = opened("") else {
        return;
    };
    let paper = "getComputedStyle(document.body).backgroundColor";
    browser.prefer("light");
    assert_eq!(browser.eval(paper), "rgb(255, 255, 255)");
    browser.prefer("dark");
    assert_eq!(browser.eval(paper), "rgb(22, 24, 28)");
    browser.click("#theme");
    assert_eq!(browser.eval(paper), "rgb(255, 255, 255)");
    browser.resize(390, 844);
    browser.open(&copy.dir().join("report/index.html"), &format!("#c={CELL}"));
    // A link to a cell shows the cell.
    let top =
        browser.eval("document.getElementById('cell').getBoundingClientRect().top < innerHeight");
    assert_eq!(top, true);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), 390);
}

#[test]
fn without_scripts_the_verdict_the_picture_and_the_tables_are_there() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let copy = FixtureCopy::new();
    browser.without_scripts();
    browser.open(&made(&copy), "");
    // The driver's own expressions are still evaluated.
    assert!(
        browser
            .text(".verdict")
            .contains("ound yamux Active::poll with muxer=1/deferred")
    );
    for what in [".opening svg", ".effects"] {
        let height =
            format!("document.querySelector('{what}').getBoundingClientRect().height > 30");
        assert_eq!(browser.eval(&height), true, "{what}");
    }
    assert_eq!(
        browser.eval("document.getElementById('explore').hidden"),
        true
    );
}

#[test]
fn names_from_outside_are_text() {
    const NAME: &str = r#"<script>alert(1)</script></script><!--"'&"#;
    let copy = FixtureCopy::new();
    let label = format!("\"label\": {}", Value::from(NAME));
    let spoil = |text: String| text.replace("\"label\": \"muxer=1/deferred\"", &label);
    edit(&copy.dir().join("manifest.json"), spoil);
    for cell in ["pl004096_rtt000_n02", CELL] {
        edit(
            &copy.dir().join("cells").join(cell).join("run-1/run.json"),
            spoil,
        );
    }
    let file = made(&copy);
    let html = fs::read_to_string(&file).expect("a page");
    assert_eq!(html.matches("<script").count(), 2, "the data and our own");
    // What reads manifests has made other letters of these. As the page writes them, they are text, too.
    let html = html.replace('‹', "\\u003c").replace('›', ">");
    fs::write(&file, html).expect("a page");
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&file, &format!("#v=-1&c={CELL}"));
    assert_eq!(
        browser.eval("document.getElementById('variant').options[2].textContent"),
        NAME
    );
    assert!(browser.text("#cell").contains(NAME));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_damaged_run_has_a_page_that_says_what_is_missing() {
    let copy = FixtureCopy::new();
    copy.cut_short();
    let file = made(&copy);
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&file, &format!("#c={CELL}"));
    assert!(
        browser
            .text("#cell")
            .contains("a run was cut short; its complete blocks count")
    );
    assert!(
        browser
            .text("main")
            .contains("without a measurement: 1 of 2")
    );
    browser.hover(".cell[data-cell=pl004096_rtt000_n02]");
    assert!(browser.text("#hover").contains("not measured"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn files_that_explain_a_cell_are_linked_and_shown() {
    let copy = FixtureCopy::explained();
    let file = made(&copy);
    let explained = copy.dir().join("report/explain");
    let Some(browser) = Browser::start() else {
        return;
    };
    let cell = fs::read_dir(&explained).expect("a folder").flatten();
    let mut names = cell.filter_map(|entry| entry.file_name().into_string().ok());
    let name = names
        .find(|name| name.ends_with(".all.svg"))
        .expect("a flame graph");
    let cell = name.trim_end_matches(".all.svg");
    browser.open(&file, &format!("#c={cell}"));
    let links = browser
        .eval("[...document.querySelectorAll('#cell a')].map((it) => it.getAttribute('href'))");
    let Value::Array(links) = links else {
        panic!("a list")
    };
    for link in links {
        let link = link.as_str().expect("text");
        assert!(copy.dir().join("report").join(link).is_file(), "{link}");
    }
    browser.click("#cell li button");
    assert_eq!(
        browser.eval("document.querySelector('iframe').hidden"),
        false
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn pages_of_several_runs_and_of_comparisons_have_a_chooser_and_are_replaced_only_if_they_are_pages()
{
    let (copy, other) = (FixtureCopy::new(), FixtureCopy::new());
    let (one, two, out) = (copy.dir(), other.dir(), copy.beside("page"));
    let make = || analysis(["page", path(&one), path(&two), "--out", path(&out)]);
    make().succeeds();
    make().succeeds();
    fs::write(out.join("index.html"), "mine").expect("a file");
    make().refuses(&["index.html", "not a page"]);
    fs::remove_file(out.join("index.html")).expect("it is there");
    make().succeeds();
    let comparison = copy.beside("compared");
    compared(&one, &two, &comparison);
    let Some(browser) = Browser::start() else {
        return;
    };
    for (file, runs) in [(out, 2), (comparison, 2)] {
        browser.open(&file.join("index.html"), "#r=1");
        assert_eq!(
            browser.eval("document.getElementById('run').options.length"),
            runs
        );
        assert_eq!(browser.eval("document.getElementById('run').value"), "1");
        assert!(
            browser
                .eval("document.querySelectorAll('.cell').length")
                .as_u64()
                > Some(0)
        );
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_soak_shows_every_series_and_the_row_under_the_pointer() {
    let soak = fixture::soak::soak(1);
    analysis(["report", path(soak.path()), "--format", "svg"]).succeeds();
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.resize(1280, 900);
    browser.open(&soak.path().join("report/index.html"), "");
    assert_eq!(
        browser.eval("document.querySelectorAll('#soak svg').length"),
        14
    );
    assert!(browser.text("#soak figcaption").contains("tasks alive"));
    browser.hover("#soak svg");
    let shown = browser.text("#hover");
    let table = fs::read_to_string(soak.path().join("soak.csv")).expect("a table");
    let is_shown = |row: &Row| shown.ends_with(&format!("{} ", row["tasks"]));
    assert!(
        fixture::rows(&table).iter().any(is_shown),
        "{shown:?} is no row"
    );
    browser.eval("document.querySelector('#soak svg').focus()");
    browser.press(Key::ArrowRight);
    assert_ne!(browser.text("#hover"), shown);
    browser.resize(390, 844);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), 390);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
