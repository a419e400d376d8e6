//! Draws pictures of invented numbers, and checks that no text overlaps or leaves the picture. To look at them:
//! `CHARTS_GALLERY=folder cargo test --release -p analysis gallery`.

mod areas;
mod invented;
mod plots;
mod recorder;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use resvg::tiny_skia::Pixmap;

use super::picture::png;
use super::{ChartFormat, Picture};
use recorder::{TextRecorder, size_of};

/// Draws one picture of each kind.
fn check(name: &str, picture: &Picture) {
    assert_laid_out(name, picture);
    draw(name, picture);
}

/// Draws the others only into a folder, since drawing takes long in a build without optimisation.
fn check_layout(name: &str, picture: &Picture) {
    assert_laid_out(name, picture);
    if folder().is_some() {
        draw(name, picture);
    }
}

fn draw(name: &str, picture: &Picture) {
    let started = Instant::now();
    let svg = picture.svg();
    let bytes = png(&svg).expect("it can be drawn");
    let took_ms = started.elapsed().as_secs_f64() * 1e3;
    println!(
        "{name}: {:?}, {took_ms:.0} ms, PNG {} kB, SVG {} kB",
        size_of(&svg),
        bytes.len() / 1000,
        svg.len() / 1000,
    );
    assert_png(name, &bytes, size_of(&svg));
    assert!(svg.starts_with("<svg width=\"1200\""), "{name}");
    assert!(svg.trim_end().ends_with("</svg>"), "{name}");
    if let Some(folder) = folder() {
        fs::create_dir_all(&folder).expect("a folder for pictures");
        fs::write(folder.join(format!("{name}.png")), bytes).expect("a place to write");
        fs::write(folder.join(format!("{name}.svg")), svg).expect("a place to write");
    }
}

/// The folder for the pictures, if there is one.
fn folder() -> Option<PathBuf> {
    std::env::var_os("CHARTS_GALLERY").map(PathBuf::from)
}

/// Of the right size, without transparency, with letters, and with nothing at its edges.
fn assert_png(name: &str, bytes: &[u8], size: (u32, u32)) {
    let pixels = Pixmap::decode_png(bytes).expect("a PNG");
    assert_eq!((pixels.width(), pixels.height()), size, "{name}");
    let pixel = |x: u32, y: u32| pixels.pixel(x, y).expect("a pixel");
    let white = |x: u32, y: u32| {
        let pixel = pixel(x, y);
        [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()] == [255; 4]
    };
    assert!(
        (0..size.0).all(|x| white(x, 3) && white(x, size.1 - 4)),
        "{name}: clipped above or below"
    );
    assert!(
        (0..size.1).all(|y| white(3, y) && white(size.0 - 4, y)),
        "{name}: clipped at a side"
    );
    let title = (28..60).flat_map(|y| (28..300).map(move |x| (x, y)));
    let dark = title.filter(|(x, y)| pixel(*x, *y).red() < 0x40).count();
    assert!(dark > 300, "{name}: the title has {dark} dark pixels");
}

/// No text leaves the picture or runs into another.
fn assert_laid_out(name: &str, picture: &Picture) {
    let svg = picture.svg();
    let recorder = TextRecorder::of(&svg);
    assert_eq!(
        recorder.outside(size_of(&svg)),
        Vec::<String>::new(),
        "{name}: outside"
    );
    assert_eq!(
        recorder.overlapping(),
        Vec::<(String, String)>::new(),
        "{name}: overlapping"
    );
    assert!(
        recorder.smallest() >= 9.0,
        "{name}: text of {} px",
        recorder.smallest()
    );
}

#[test]
fn heatmaps() {
    check("heatmap-4-payloads", &areas::heatmap(5, 4, 4));
    check_layout("heatmap-7x7", &areas::heatmap(7, 7, 4));
    check_layout("heatmap-3-payloads", &areas::heatmap(5, 4, 3));
    check_layout("heatmap-1-cell", &areas::heatmap(1, 1, 1));
    for payloads in [1, 2, 5, 6] {
        assert_laid_out("heatmap", &areas::heatmap(6, 7, payloads));
        assert_laid_out("heatmap", &areas::heatmap(1, 1, payloads));
    }
}

#[test]
fn before_and_after() {
    check("before-after", &areas::before_after(5, 4, 4));
    check_layout("before-after-7x7", &areas::before_after(7, 7, 2));
    check_layout("before-after-1-cell", &areas::before_after(1, 1, 1));
}

#[test]
fn line_charts() {
    check("lines", &plots::lines(2));
    check_layout("marks", &plots::marks());
}

#[test]
fn time_by_child() {
    check("time-by-child", &areas::time_by_child());
}

#[test]
fn a_picture_has_the_content_of_each_format() {
    let svg = areas::time_by_child().svg();
    let png = ChartFormat::Png.of(&svg).expect("pixels");
    assert!(png.starts_with(b"\x89PNG"));
    assert_eq!(ChartFormat::Svg.of(&svg).expect("text"), svg.as_bytes());
}

#[test]
fn a_picture_of_nothing_can_be_drawn() {
    assert_laid_out("heatmap", &areas::heatmap(0, 0, 2));
    assert_laid_out("heatmap", &areas::heatmap(2, 2, 0));
    assert_laid_out("before-after", &areas::before_after(0, 0, 1));
    assert_laid_out("before-after", &areas::before_after(2, 2, 0));
    assert_laid_out("lines", &plots::lines(0));
}

#[test]
fn the_longer_the_words_the_taller_the_picture() {
    let mut picture = plots::marks();
    let (width, height) = size_of(&picture.svg());
    picture.title = "What every budget gains and costs ".repeat(4);
    picture.subtitle = "with a subtitle that does not fit into a line either ".repeat(3);
    picture.small_print = "sha256:0123456789abcdef".repeat(30);
    let (wider, taller) = size_of(&picture.svg());
    assert!(wider == width && taller > height + 100);
    check_layout("long-words", &picture);
}
