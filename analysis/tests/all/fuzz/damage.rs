//! One random damage to a folder: of a file as a whole, of a table's rows and fields, or of a JSON file's values.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

/// Values that replace a field of a table or of a JSON file.
#[rustfmt::skip]
const NUMBERS: [&str; 12] = [
    "NaN", "inf", "-1", "0", "1", "1e300", "1e-300", "999999999999999", "18446744073709551615", "0.5", "", "x",
];
const TEXTS: [&str; 6] = [
    "\u{1b}[2J",
    "a|b`c`\n# d",
    "<img src=x>",
    "\u{202e}abc",
    "../../etc/passwd",
    "\u{0}",
];

/// All files below a folder, in an order that does not depend on the disk.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A damage that was done.
pub(crate) struct Damage {
    pub(crate) how: String,
    /// Whether other tables contradict the damage, so that it is found even without checksums.
    pub(crate) is_contradicted: bool,
}

/// Damages one of the files.
pub(crate) fn damage(rng: &mut StdRng, files: &[PathBuf]) -> Damage {
    let file = files.choose(rng).expect("there are files");
    let bytes = fs::read(file).expect("a file");
    let text = String::from_utf8(bytes.clone()).ok();
    let is_json = file
        .extension()
        .is_some_and(|extension| extension == "json");
    let mut is_contradicted = false;
    let how = match text {
        _ if rng.random_bool(0.25) => sha256_of_file(rng, file, files),
        Some(text) if is_json => of_json(rng, file, &text),
        Some(text) if text.lines().count() > 2 => {
            let how;
            (how, is_contradicted) = of_table(rng, file, &text);
            how
        }
        _ => of_bytes(rng, file, bytes),
    };
    Damage {
        how: format!("{}: {how}", file.display()),
        is_contradicted,
    }
}

fn write(file: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(file, bytes).expect("a copy can be written");
}

fn sha256_of_file(rng: &mut StdRng, file: &Path, files: &[PathBuf]) -> String {
    let other = files.choose(rng).expect("there are files");
    let content = fs::read(other).expect("a file");
    let original = fs::read(file).expect("a file");
    fs::remove_file(file).expect("it is there");
    match rng.random_range(0..9) {
        0 => "deleted".to_owned(),
        1 => {
            write(&file.with_extension("old"), original);
            "renamed".to_owned()
        }
        2 => {
            let made = Command::new("mkfifo").arg(file).status();
            assert!(made.expect("coreutils are there").success());
            "a named pipe".to_owned()
        }
        3 => {
            symlink("/dev/zero", file).expect("it is new");
            "a link to /dev/zero".to_owned()
        }
        4 => {
            fs::create_dir(file).expect("it is new");
            "a folder".to_owned()
        }
        5 => {
            let sparse = File::create(file).expect("it is new");
            sparse.set_len(3 << 30).expect("a sparse file");
            "3 GiB of zeros".to_owned()
        }
        6 => {
            write(file, &original[..rng.random_range(0..=original.len())]);
            "cut off".to_owned()
        }
        7 => {
            write(file, content);
            format!("content of {}", other.display())
        }
        _ => of_bytes(rng, file, original),
    }
}

fn of_bytes(rng: &mut StdRng, file: &Path, mut bytes: Vec<u8>) -> String {
    if bytes.is_empty() {
        write(file, "x\n");
        return "a line in an empty file".to_owned();
    }
    let at = rng.random_range(0..bytes.len());
    bytes[at] ^= 1 << rng.random_range(0..8);
    write(file, bytes);
    format!("a bit of byte {at}")
}

/// Tables of a run of which every row is implied by another table.
const IMPLIED: [&str; 4] = ["blocks.csv", "peers.csv", "sites.csv", "bands.csv"];

/// Rows of a table or lines of a log. Returns also whether other tables contradict it.
fn of_table(rng: &mut StdRng, file: &Path, text: &str) -> (String, bool) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (at, other) = (
        rng.random_range(1..lines.len()),
        rng.random_range(1..lines.len()),
    );
    let is_of_run = file.components().any(|part| part.as_os_str() == "cells");
    let is_implied = is_of_run && IMPLIED.iter().any(|name| file.ends_with(name));
    let mut is_contradicted = false;
    let how = match rng.random_range(0..11) {
        0 => {
            is_contradicted = is_implied;
            lines.remove(at);
            format!("line {at} deleted")
        }
        1 => {
            is_contradicted =
                is_of_run && file.extension().is_some_and(|extension| extension == "csv");
            let line = lines[at].clone();
            lines.insert(other, line);
            format!("line {at} twice")
        }
        2 => {
            lines.swap(at, other);
            format!("lines {at} and {other} swapped")
        }
        3 => {
            lines.truncate(at);
            format!("nothing after line {at}")
        }
        4 => {
            lines[0] = format!("{}x", lines[0]);
            "another header".to_owned()
        }
        5 => {
            let tags = [at, other].map(|line| lines[line].split(',').next().unwrap_or_default());
            let tags = tags.map(str::to_owned);
            // Other tables contradict this if both are read and are of different variants.
            let is_read = |tag: &String| tag.starts_with("Tag=connection.");
            let variant = |tag: &String| tag.rsplit_once(".v").map(|(_, rest)| rest.to_owned());
            let is_of_one = variant(&tags[0]) == variant(&tags[1]);
            let is_plain = tags
                .iter()
                .all(|tag| is_read(tag) && !tag.contains("children"));
            is_contradicted = is_of_run && is_plain && !is_of_one;
            for (line, [from, to]) in [(at, [0, 1]), (other, [1, 0])] {
                lines[line] = lines[line].replacen(&tags[from], &tags[to], 1);
            }
            format!("first fields of lines {at} and {other} swapped")
        }
        _ => of_field(rng, &mut lines, at, other),
    };
    write(file, lines.join("\n") + "\n");
    (how, is_contradicted)
}

fn of_field(rng: &mut StdRng, lines: &mut [String], at: usize, other: usize) -> String {
    let mut fields: Vec<String> = lines[at].split(',').map(str::to_owned).collect();
    let field = rng.random_range(0..fields.len());
    let others: Vec<&str> = lines[other].split(',').collect();
    let value = match rng.random_range(0..4) {
        0 => (*others.choose(rng).expect("a field")).to_owned(),
        1 => others.get(field).copied().unwrap_or_default().to_owned(),
        2 => (*TEXTS.choose(rng).expect("a text")).to_owned(),
        _ => (*NUMBERS.choose(rng).expect("a number")).to_owned(),
    };
    let how = format!("line {at}: field {field} is {value:?}");
    fields[field] = value;
    lines[at] = fields.join(",");
    how
}

fn of_json(rng: &mut StdRng, file: &Path, text: &str) -> String {
    let mut root: Value = serde_json::from_str(text).expect("JSON");
    if rng.random_bool(0.1) {
        write(file, root.to_string());
        return "other white space".to_owned();
    }
    let mut places = Vec::new();
    pointers(&root, String::new(), &mut places);
    let place = places.choose(rng).expect("a place").clone();
    let other = places.choose(rng).expect("a place");
    let other = root.pointer(other).expect("it is there").clone();
    let (parent, key) = place.rsplit_once('/').expect("below the root");
    let (parent, key) = (parent.to_owned(), key.to_owned());
    let how = match rng.random_range(0..8) {
        0 => {
            match root.pointer_mut(&parent).expect("it is there") {
                Value::Object(fields) => drop(fields.remove(&key)),
                Value::Array(values) => drop(values.remove(key.parse().expect("an index"))),
                _ => {}
            }
            format!("{place} deleted")
        }
        1 => {
            if let Value::Array(values) = root.pointer_mut(&parent).expect("it is there") {
                values.push(other);
                format!("one more in {parent}")
            } else {
                *root.pointer_mut(&place).expect("it is there") = other;
                format!("{place} is another value")
            }
        }
        kind => {
            let number = NUMBERS.choose(rng).expect("a number");
            let value = match kind {
                2 => other,
                3 => json!(TEXTS.choose(rng).expect("a text")),
                4 => [
                    json!(null),
                    json!([]),
                    json!({}),
                    json!(true),
                    json!("x".repeat(10_000)),
                ][rng.random_range(0..5)]
                .clone(),
                _ => serde_json::from_str(number).unwrap_or(json!(number)),
            };
            let how = format!("{place} is {value:.60}");
            *root.pointer_mut(&place).expect("it is there") = value;
            how
        }
    };
    write(
        file,
        serde_json::to_string_pretty(&root).expect("a value") + "\n",
    );
    how
}

fn pointers(value: &Value, at: String, places: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        places.push(place.clone());
        pointers(value, place, places);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(values) => {
            let values = values.iter().enumerate();
            values.for_each(|(at, value)| below(&at.to_string(), value));
        }
        _ => {}
    }
}
