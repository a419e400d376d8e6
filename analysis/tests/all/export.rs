//! The figures of sweeps in folders for each sweep and metric are those of `summary.csv`.

use std::collections::BTreeMap;
use std::fs::{self, File};

use crate::fixture::{FixtureCopy, analysis, path};
use polars_parquet::read::read_metadata;

#[test]
fn every_figure_is_in_the_folder_of_its_metric() {
    let copy = FixtureCopy::new();
    copy.report(&["--format", "svg"]).succeeds();
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    for line in copy.text("summary.csv").lines().skip(1) {
        let metric = line.split(',').nth(5).unwrap();
        *expected.entry(format!("metric={metric}")).or_default() += 1;
    }
    let out = copy.beside("dataset");
    let run = copy.dir();
    let export = || analysis(["export", path(&run), "--out", path(&out)]);
    export().succeeds();
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(out.join("sweep=sweep")).unwrap().flatten() {
        let mut file = File::open(folder.path().join("figures.parquet")).unwrap();
        let about = read_metadata(&mut file).unwrap();
        let columns = about.schema_descr.columns().iter();
        let names: Vec<&str> = columns
            .map(|column| column.path_in_schema[0].as_str())
            .collect();
        assert!(names.contains(&"variant") && !names.contains(&"metric"));
        found.insert(folder.file_name().into_string().unwrap(), about.num_rows);
    }
    assert_eq!(found, expected);
    export().refuses(&["--out", "is there already"]);
}
