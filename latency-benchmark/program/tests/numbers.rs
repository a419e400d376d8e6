//! Numbers with units, as they are typed.

use std::time::Duration;

use program::number::{Number, PERCENT, POINTS, TIME, decimal, time};

const SIZE: Number = Number {
    units: &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0)],
    bare: "",
    least: 0.0,
    most: 16.0 * 1_048_576.0,
};

#[test]
fn a_number_is_read_with_its_unit_and_shown_in_the_largest_that_fits() {
    for (text, ns, shown) in [
        ("50us", 50_000, "50us"),
        ("25ms", 25_000_000, "25ms"),
        ("1.5 s", 1_500_000_000, "1500ms"),
        (" 28min ", 1_680_000_000_000, "28min"),
        ("0.1ms", 100_000, "100us"),
        ("1.5h", 5_400_000_000_000, "90min"),
    ] {
        assert_eq!(time(text), Ok(Duration::from_nanos(ns)), "{text}");
        assert_eq!(TIME.show(ns as f64), shown);
    }
    for (text, bytes, shown) in [
        ("0B", 0, "0B"),
        ("4KiB", 4096, "4KiB"),
        ("1.5MiB", 1_572_864, "1536KiB"),
    ] {
        assert_eq!(SIZE.read_whole(text), Ok(bytes), "{text}");
        assert_eq!(SIZE.show(bytes as f64), shown);
    }
    assert_eq!(PERCENT.read("0.1%"), Ok(0.1));
    assert_eq!(POINTS.read("0.5 pp"), Ok(0.5));
    assert_eq!(decimal("0.1"), Ok(0.1));
}

#[test]
fn every_microsecond_is_read_from_milliseconds_with_decimals() {
    for us in 1..100_000 {
        let ms = us as f64 / 1e3;
        let read = time(&format!("{ms}ms"));
        assert_eq!(read, Ok(Duration::from_micros(us)), "{ms}");
    }
}

#[test]
fn what_is_no_number_of_the_kind_is_refused_with_the_reason() {
    for (text, problem) in [
        ("", "is not a number"),
        ("ms", "is not a number"),
        ("1.2.3s", "is not a number"),
        ("+5s", "is not a number"),
        ("NaN", "is not a number"),
        ("inf", "is not a number"),
        ("-1s", "is negative"),
        ("5", "has no unit"),
        ("1e3s", "has the unknown unit \"e3s\""),
        ("5 min 3 s", "has the unknown unit \"min 3 s\""),
        ("0s", "is zero"),
        ("0.5ns", "is less than 1ns"),
        ("1.5ns", "has too many decimals"),
        ("1001h", "is more than 1000h"),
        ("99999999999999999999999h", "is more than 1000h"),
    ] {
        let error = time(text).expect_err(text);
        let expected = format!("{text:?} {problem} (accepted: a time such as 50us, 90s or 1.5h)");
        assert_eq!(error, expected);
    }
}
