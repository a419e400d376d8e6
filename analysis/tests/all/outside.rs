//! Text from outside is shown as data, and a limit on processes is an error in one line.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use crate::fixture::evidence::{self, CELL};
use crate::fixture::{FixtureCopy, RUNS, analysis, edit, path};

/// Text that means something in Markdown, HTML and terminals.
const HOSTILE: &str =
    r"</details><img src=x onerror=alert(1)>|`![x](https://evil.example)`\u001b[2J\n# heading";

fn all_text(dir: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text += &all_text(&path);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "md" || extension == "svg")
        {
            text += &fs::read_to_string(&path).expect("text");
        }
    }
    text
}

#[test]
fn text_from_outside_is_no_markup_and_commands_no_terminal() {
    let copy = FixtureCopy::new();
    edit(&copy.dir().join("manifest.json"), |text| {
        let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for (of, field) in [
            ("machine", "cpu"),
            ("machine", "kernel"),
            ("tool", "commit"),
            ("tool", "version"),
        ] {
            manifest[of][field] = "HOSTILE".into();
        }
        manifest["command"][2] = "HOSTILE".into();
        manifest.to_string().replace("HOSTILE", HOSTILE)
    });
    let named = copy.beside("a<b>`c`|d\u{1b}[2J");
    fs::rename(copy.dir(), &named).expect("a new name");
    let ended = analysis(["report", path(&named), "--format", "svg"]);
    ended.succeeds();
    let text = all_text(&named.join("report"));
    assert!(text.contains("onerror=alert"), "it is shown");
    for active in [
        "<img",
        "</details><",
        "](https",
        "://evil",
        "\u{1b}",
        "\n# heading",
        "a<b>",
        "git checkout ‹",
    ] {
        assert!(!text.contains(active), "{active:?}");
    }
    assert!(!ended.out.contains('\u{1b}'), "{}", ended.out);
}

/// A spreadsheet computes what begins with one of these characters.
#[test]
fn no_text_from_outside_is_a_formula_in_a_table() {
    let copy = FixtureCopy::explained();
    let dir = copy.dir();
    let evidence = evidence::dir(&copy);
    let runs = RUNS.map(|run| dir.join(run));
    let runs = runs.iter().chain([&evidence]);
    let files = runs.map(|run| run.join("run.json"));
    for file in files.chain([dir.join("manifest.json")]) {
        edit(&file, |text| {
            text.replace("\"label\": \"muxer=1/deferred\"", "\"label\": \"=1+1\"")
        });
    }
    evidence::change(&copy, "allocations.csv", |text| {
        let text = text.replace("handler.poll", "@SUM(A1)");
        text.replace(",4400,44000", ",11000000,440000000")
    });
    copy.report(&["--format", "svg"]).succeeds();
    let has_field = |table: &str, field: &str| {
        let table = copy.text(table);
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let rows: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
        let mut fields = rows.iter().flat_map(|row| row.iter());
        let is_formula = |field: &str| field.starts_with(['=', '@']);
        assert!(!fields.clone().any(is_formula), "{table}");
        fields.any(|other| other == field)
    };
    assert!(has_field("summary.csv", "'=1+1"));
    assert!(has_field("explain/findings.csv", "'@SUM(A1)"));
    assert!(has_field(&format!("explain/{CELL}.worst.csv"), "'=1+1"));
}

#[test]
fn an_address_that_is_markup_is_refused() {
    let copy = FixtureCopy::new();
    for address in ["https://a.b/) ![x](y", "https://a.b/\n# x", "<b>"] {
        let ended = copy.report(&["--link-base", address]);
        ended.refuses(&["--link-base", "is no address"]);
    }
}

#[test]
fn few_processes_are_one_line() {
    if fs::metadata("/proc/self").expect("it is there").uid() != 0 {
        return; // Other processes of the user may have used up the limit.
    }
    let copy = FixtureCopy::new();
    // Another user may not be able to read the folder in which the program was built.
    let program = copy.beside("analysis");
    fs::copy(env!("CARGO_BIN_EXE_analysis"), &program).expect("a copy");
    let nobody = Some(65_534);
    let folder = program.parent().expect("a folder");
    chown(folder, nobody, nobody).expect("root may");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["prlimit", "--nproc=1"]).arg(&program);
    let output = command
        .arg("report")
        .arg(copy.dir())
        .output()
        .expect("util-linux is there");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("threads cannot be started"), "{said}");
}
