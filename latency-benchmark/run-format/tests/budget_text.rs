//! The text form of sites and budgets, by itself and in serialised data.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use run_format::{Budget, Budgets, Limit, Site, Wake};

fn accepted(text: &str) -> Budgets {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn what_is_written_is_read_back() {
    for text in [
        "none",
        "connection=8",
        "connection=50us",
        "muxer=4/deferred",
        "connection=8,muxer=2",
        "connection=1,muxer=1ms/deferred,task=4294967295",
        "task=coop",
        "muxer=1234ns",
        "task=7s",
        "quic-connection=10/deferred,quic-endpoint=25us",
        "quic-connection=80x40",
        "quic-connection=20x4294967295/deferred",
        "none@both",
        "flush=32KiB",
        "flush=32KiB,muxer=1/deferred@both",
        "connection=8,muxer=1/deferred@both",
    ] {
        assert_eq!(accepted(text).to_string(), text);
    }
}

#[test]
fn what_means_the_same_is_written_the_same() {
    for (text, canonical) in [
        (" none ", "none"),
        ("muxer=2, connection=8", "connection=8,muxer=2"),
        ("connection=8/immediate", "connection=8"),
        ("connection = 008", "connection=8"),
        ("connection=1.5us", "connection=1500ns"),
        ("connection=1000us", "connection=1ms"),
        ("connection=50 us / deferred", "connection=50us/deferred"),
        ("task=coop/deferred", "task=coop"),
        ("muxer=2,connection=8@both ", "connection=8,muxer=2@both"),
    ] {
        assert_eq!(accepted(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn the_parts_mean_what_they_say() {
    let budgets = accepted("connection=8,muxer=50us/deferred,task=coop");
    assert_eq!(
        budgets.at(Site::Connection),
        Some(Budget {
            limit: Limit::Count(8.try_into().unwrap()),
            wake: Wake::Immediate,
            segments: None
        })
    );
    assert_eq!(
        budgets.at(Site::Muxer),
        Some(Budget {
            limit: Limit::Time(std::time::Duration::from_micros(50)),
            wake: Wake::Deferred,
            segments: None
        })
    );
    assert_eq!(
        budgets.at(Site::Task).map(|budget| budget.limit),
        Some(Limit::Coop)
    );
    assert_eq!(budgets.at(Site::Swarm), None);
    assert_eq!(budgets.in_peers(), Default::default());
    let both = accepted("connection=8,muxer=50us/deferred,task=coop@both");
    assert_eq!(both.in_peers(), budgets.in_central());
    assert_eq!(both.in_central(), budgets.in_central());
}

/// A text, the part of it that is named, and the problem.
const WRONG: &str = r#"
connexion=8 => "connexion=8" => unknown site "connexion"
muxer=2,foo=1 => "foo=1" => unknown site "foo"
swarm=8 => "swarm=8" => takes no budget
connection => "connection" => no `=`
connection= => "connection=" => not a number
connection=0 => "connection=0" => zero
connection=000us => "connection=000us" => zero
connection=-1 => "connection=-1" => negative
connection=4294967296 => "connection=4294967296" => is more than 4294967295
connection=99999999999999999999999 => limit => is more than 4294967295
connection=18446744073709551615s => limit => is more than 1000h
connection=5d => "connection=5d" => unknown unit "d"
connection=1.5 => "connection=1.5" => too many decimals
connection=1e3 => "connection=1e3" => unknown unit "e3"
connection=eight => "connection=eight" => not a number
connection=8,connection=9 => "connection=9" => twice
connection=8, => "" => no `=`
connection=8/later => "connection=8/later" => unknown wake "later"
connection=8/ => "connection=8/" => unknown wake ""
task=coop/immediate => "task=coop/immediate" => tokio's own
quic-connection=50us => "quic-connection=50us" => no bound of this kind
quic-endpoint=coop => "quic-endpoint=coop" => no bound of this kind
connection=8x2 => "connection=8x2" => no bound of this kind
quic-connection=8x0 => "quic-connection=8x0" => zero
quic-connection=x4 => "quic-connection=x4" => not a number
none,muxer=2 => "none" => stands alone
@both => "@both" => empty
flush=soon => "flush=soon" => flush takes 32KiB, not "soon"
flush=32KiB,flush=32KiB => "flush=32KiB" => twice
connection=8@both,muxer=2 => "connection=8@both" => unknown unit "@both"
"#;

#[test]
fn every_wrong_text_is_one_line_that_names_the_part_and_the_accepted_forms() {
    let lines = WRONG.lines().filter(|line| !line.is_empty());
    let cases = lines.map(|line| line.split(" => ").collect::<Vec<_>>());
    let more = [
        ["", "\"\"", "empty"].to_vec(),
        ["   ", "\"\"", "empty"].to_vec(),
        ["connection=8\nmuxer=2", "connection", "unknown unit"].to_vec(),
    ];
    for case in cases.chain(more) {
        let (text, named, problem) = (case[0], case[1], case[2]);
        let error = text.parse::<Budgets>().expect_err(text).to_string();
        assert!(error.contains(named), "{text:?}: {error}");
        assert!(error.contains(problem), "{text:?}: {error}");
        assert!(error.contains("SITE=LIMIT[/WAKE]"), "{text:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{text:?}: {error}");
    }
}

#[test]
fn a_site_is_read_by_its_name_and_an_unknown_name_is_refused_with_the_known_ones() {
    for site in Site::ALL {
        assert_eq!(site.to_string().parse(), Ok(site));
    }
    let error = "Muxer".parse::<Site>().expect_err("case matters");
    assert_eq!(
        error.to_string(),
        "unknown site \"Muxer\" (accepted: connection, swarm, muxer, task, quic-connection, quic-endpoint, gossip-actor)"
    );
}

#[test]
fn sites_and_budgets_are_serialised_as_their_text() {
    let by_site = BTreeMap::from([(Site::Muxer, accepted("muxer=2,connection = 8"))]);
    let json = serde_json::to_string(&by_site).unwrap();
    assert_eq!(json, r#"{"muxer":"connection=8,muxer=2"}"#);
    let read: BTreeMap<Site, Budgets> = serde_json::from_str(&json).unwrap();
    assert_eq!(read, by_site);
}

#[test]
fn serialised_text_that_names_no_site_or_budgets_is_refused_with_the_reason() {
    let site = serde_json::from_str::<Site>(r#""mixer""#).expect_err("no site");
    assert!(site.to_string().contains("unknown site"), "{site}");
    let budgets = serde_json::from_str::<Budgets>(r#""swarm=8""#).expect_err("no budget");
    assert!(budgets.to_string().contains("takes no budget"), "{budgets}");
    assert!(serde_json::from_str::<Site>("2").is_err());
}
