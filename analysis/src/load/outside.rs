//! Makes text from outside harmless, such as a commit's subject line or the name of a CPU. In a report it cannot become
//! markup, a link, another line, or a command to a terminal.

use std::path::Path;

use anyhow::{Context, Result};
use run_format::{Plausible, files, is_xml_noncharacter};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(super) fn read<T: Plausible + Serialize + DeserializeOwned>(path: &Path) -> Result<T> {
    tamed(files::read_versioned(path)?, path)
}

pub(super) fn read_unversioned<T: Plausible + Serialize + DeserializeOwned>(
    path: &Path,
) -> Result<T> {
    tamed(files::read_document(path)?, path)
}

fn tamed<T: Serialize + DeserializeOwned>(document: T, path: &Path) -> Result<T> {
    let tamed = || -> serde_json::Result<T> {
        let mut value = serde_json::to_value(document)?;
        tame(&mut value);
        serde_json::from_value(value)
    };
    tamed().with_context(|| path.display().to_string())
}

fn tame(value: &mut Value) {
    match value {
        Value::String(text) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(tame),
        Value::Object(fields) => fields.values_mut().for_each(tame),
        Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// The text in one line, without characters that mean something in Markdown, HTML or terminals.
fn plain(text: &str) -> String {
    const LONGEST: usize = 500;
    let letters = text.chars().map(|letter| match letter {
        '`' => '\'',
        '<' => '‹',
        '>' => '›',
        '|' => '¦',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        letter if letter.is_control() || is_xml_noncharacter(letter) => ' ',
        letter => letter,
    });
    let mut plain: String = letters.take(LONGEST).collect();
    for (active, inactive) in [("](", "] ("), ("://", ": //"), ("www.", "www .")] {
        plain = plain.replace(active, inactive);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        for (text, expected) in [
            ("AMD EPYC 7B13, 2.45 GHz", "AMD EPYC 7B13, 2.45 GHz"),
            ("<img src=x>|a`b`", "‹img src=x›¦a'b'"),
            ("![x](https://a.b)", "![x] (https: //a.b)"),
            ("one\n# two\u{1b}[2J", "one # two [2J"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain(&"x".repeat(10_000)).len(), 500);
    }
}
