//! The tables of columns in RESULTS.md are made from the doc comments of the row types.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use syn::{Attribute, Expr, ExprLit, Field, Item, ItemStruct, Lit, Meta};

/// Every source file with types of rows that RESULTS.md describes.
const SOURCES: [&str; 3] = [
    include_str!("../../src/tables.rs"),
    include_str!("../../src/soak.rs"),
    include_str!("../../src/gate.rs"),
];

const HEAD: &str = "| column | unit | meaning |\n|---|---|---|\n";

/// `BLESS=1` writes the tables anew.
#[test]
fn the_document_has_the_columns() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
    let written = fs::read_to_string(&file).expect("it is committed");
    let tables: HashMap<String, String> = SOURCES.into_iter().flat_map(tables).collect();
    let mut sections: Vec<String> = written.split("\n## ").map(str::to_owned).collect();
    let mut filled = 0;
    for section in &mut sections {
        let title = section.lines().next().unwrap_or_default();
        if let Some(table) = tables.get(title.trim_matches('`')) {
            let from = section
                .find(HEAD)
                .unwrap_or_else(|| panic!("{title} has no table"));
            let to = section[from..]
                .find("\n\n")
                .map_or(section.len(), |end| from + end + 1);
            section.replace_range(from..to, table);
            filled += 1;
        }
    }
    assert_eq!(filled, tables.len(), "each table of a run has a section");
    let document = sections.join("\n## ");
    if env::var_os("BLESS").is_some() {
        fs::write(file, &document).expect("it can be written");
    } else {
        assert_eq!(written, document, "`BLESS=1` with this test writes it anew");
    }
}

/// The table of columns of each file whose rows are described.
fn tables(source: &str) -> Vec<(String, String)> {
    let source = syn::parse_file(source).expect("it compiles");
    let structs = source.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    });
    structs
        .filter_map(|item| Some((file(item)?, table(item))))
        .collect()
}

/// Such a type says "row of `slices.csv`".
fn file(item: &ItemStruct) -> Option<String> {
    let says = says(&item.attrs);
    let (_, name) = says.split_once("row of `")?;
    Some(name.split_once('`')?.0.to_owned())
}

/// A field without a comment shares the row of the one before it.
fn table(item: &ItemStruct) -> String {
    let mut rows: Vec<(Vec<String>, String)> = Vec::new();
    for field in &item.fields {
        let name = name(field);
        match (says(&field.attrs), rows.last_mut()) {
            (says, Some((names, _))) if says.is_empty() => names.push(format!("`{name}`")),
            (says, _) => rows.push((
                vec![format!("`{name}`")],
                format!("{} | {says}", unit(&name)),
            )),
        }
    }
    let mut table = HEAD.to_owned();
    for (names, rest) in rows {
        let _ = writeln!(table, "| {} | {} |", names.join(", "), rest.trim());
    }
    table
}

/// A comment as part of a table: without a capital letter and a full stop.
fn says(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(comment) if comment.path.is_ident("doc") => match &comment.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(line),
                    ..
                }) => Some(line.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        });
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix('.').unwrap_or(&text);
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}

fn name(field: &Field) -> String {
    field
        .ident
        .as_ref()
        .expect("columns have names")
        .to_string()
}

/// The unit that the name of a column says. A column that is neither a time nor a size, and names nothing, is counted.
fn unit(name: &str) -> &'static str {
    const NAMES: [&str; 14] = [
        "slice", "pass", "block", "variant", "site", "child", "budget", "peer", "worker", "cores",
        "cell", "program", "attempt", "kind",
    ];
    match name.rsplit('_').next() {
        _ if NAMES.contains(&name) => "",
        Some("ns") => "ns",
        Some("ms") => "ms",
        Some("s") => "s",
        Some("bytes") => "bytes",
        _ => "count",
    }
}
