//! Writes pictures to files.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree, fontdb},
};
use serde::{Deserialize, Serialize};

use super::{draw, parts::frame::svg, view::Picture};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChartFormat {
    Png,
    Svg,
}

impl ChartFormat {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            ChartFormat::Png => "png",
            ChartFormat::Svg => "svg",
        }
    }
}

pub(crate) fn write(picture: &dyn Picture, stem: &Path, formats: &[ChartFormat]) -> Result<()> {
    let svg = svg(picture);
    for format in formats {
        // Appended, since the stem may have dots of its own.
        let mut path = OsString::from(stem);
        path.push(format!(".{}", format.extension()));
        let written = match format {
            ChartFormat::Png => fs::write(&path, png(&svg)?),
            ChartFormat::Svg => fs::write(&path, &svg),
        };
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(super) fn png(svg: &str) -> Result<Vec<u8>> {
    static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        for face in draw::faces() {
            fonts.load_font_source(fontdb::Source::Binary(Arc::new(face)));
        }
        Arc::new(fonts)
    });
    let options = Options {
        fontdb: FONTS.clone(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).context("an SVG that cannot be read")?;
    let size = tree.size().to_int_size();
    let pixels = Pixmap::new(size.width(), size.height());
    let mut pixels = pixels.context("a picture without pixels")?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().context("pixels that are no PNG")
}
