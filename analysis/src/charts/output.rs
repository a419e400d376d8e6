//! Writes pictures to files.

use std::{ffi::OsString, fs, path::Path};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{draw, parts::frame, view::Picture};

/// A file format of pictures.
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

/// Writes `<stem>.png` and `<stem>.svg`, whichever are asked for.
pub(crate) fn write(picture: &dyn Picture, stem: &Path, formats: &[ChartFormat]) -> Result<()> {
    for format in formats {
        let bytes = match format {
            ChartFormat::Png => png(picture)?,
            ChartFormat::Svg => svg(picture).into_bytes(),
        };
        // Appended, since the stem may have dots of its own.
        let mut path = OsString::from(stem);
        path.push(format!(".{}", format.extension()));
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(super) fn png(picture: &dyn Picture) -> Result<Vec<u8>> {
    draw::png(&frame::draw(picture).0, frame::size(picture))
}

/// As SVG.
pub(crate) fn svg(picture: &dyn Picture) -> String {
    draw::svg(&frame::draw(picture).0, frame::size(picture))
}
