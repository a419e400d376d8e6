//! Peers on other hosts, which ssh starts. The hosts are network namespaces, each with a server of OpenSSH and joined
//! to central's by a link; all of it ends with the test.

use std::fs;
use std::process::{Command, Output};

use crate::bench::{
    self, Bench, PROGRAM, complaint, json, node_program, number, succeeds, table, text, words,
};
use program::tool;
use serde_json::Value;

/// Two hosts, 10.77.1.2 and 10.77.2.2. In a process namespace of its own, so that servers end with the script.
const HOSTS: &str = r#"
set -e
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir /run/sshd /run/netns
ip link set lo up
for i in 1 2; do
    ip netns add h$i
    ip link add v$i type veth peer name eth0 netns h$i
    ip addr add 10.77.$i.1/24 dev v$i
    ip link set v$i up
    ip -n h$i addr add 10.77.$i.2/24 dev eth0
    ip -n h$i link set lo up
    ip -n h$i link set eth0 up
    ip netns exec h$i "$SSHD" -f "$DIR/sshd_config"
done
code=0
sh -c "$SCRIPT" || code=$?
# Peers end by themselves: nobody on their hosts knows that they should.
for i in $(seq 200); do
    left=$(grep -lsz '^peer$' /proc/[0-9]*/cmdline | wc -l)
    [ "$left" = 0 ] && exit $code
    sleep 0.1
done
echo "peers that are left: $left" >&2
exit 77
"#;

/// Whether there can be such hosts.
fn can_have_hosts() -> bool {
    let missing = ["sshd", "ssh-keygen", "ip", "unshare"]
        .into_iter()
        .filter(|name| !tool(name).is_file())
        .chain((!nix::unistd::geteuid().is_root()).then_some("root's rights"));
    bench::lacks_nothing(missing) && bench::can_run(false)
}

/// Runs a script of the shell in central's namespace. `$SSH` is the command for `--peer-command`.
fn with_hosts(bench: &Bench, script: &str) -> Output {
    let dir = bench.dir.path();
    for key in ["host_key", "key"] {
        let mut keygen = Command::new(tool("ssh-keygen"));
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
        assert!(keygen.arg(dir.join(key)).status().unwrap().success());
    }
    let at = dir.display();
    let config = format!(
        "Port 2222\nHostKey {at}/host_key\nAuthorizedKeysFile {at}/key.pub\nPidFile none\nUsePAM no\nStrictModes no\n\
         PermitRootLogin yes\n"
    );
    fs::write(dir.join("sshd_config"), config).unwrap();
    let ssh = format!(
        "ssh -F none -i {at}/key -p 2222 -oBatchMode=yes -oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null \
         -oLogLevel=ERROR {{host}}"
    );
    node_program("libp2p-node");
    let mut command = Command::new(tool("unshare"));
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]);
    command.args(["--mount-proc", "sh", "-c", HOSTS]);
    bench.prepare(&mut command);
    command.env("DIR", dir).env("SSHD", tool("sshd"));
    command.env("SSH", ssh).env("SCRIPT", script);
    command.env("TOOL", PROGRAM).env("OUT", bench.out());
    command.output().unwrap()
}

const SWEEP: &str = r#"set -- sweep --measure-only --out "$OUT" --name run --payload 4KiB --budget none --turn 100
    "$TOOL" "$@" --peer-hosts root@10.77.1.2,root@10.77.2.2=10.77.2.2 --peer-command "$SSH" --max-cell-seconds "#;

/// Runs a sweep in the background and waits until its first slice is written.
const RUNNING: &str = "8 & sweep=$!; \
    until [ -s \"$OUT\"/run/cells/*/run-1.partial/slices.csv ]; do sleep 0.05; done; ";

#[test]
fn peers_on_other_hosts_are_measured_and_the_network_is_recorded() {
    if !can_have_hosts() {
        return;
    }
    let bench = Bench::new();
    let output = with_hosts(&bench, &format!("{SWEEP}1"));
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let run = bench.only("run-1");
    let row = json(&run.join("run.json"));
    assert_eq!(row["status"], "ok", "{row}");
    assert_eq!(row["config"]["cell"]["peers"], 2);
    assert!(row["config"]["cell"]["rtt_ms"].as_f64().unwrap() > 0.0);
    let network = &row["network"];
    assert!(network["lab"].is_null() && network["counters"].is_null());
    let rtt = &network["rtt"];
    assert!(rtt["tolerance_ms"].is_null());
    let links = rtt["links"].as_array().unwrap();
    assert_eq!(links.len(), 2);
    let connects = |link: &Value| link["connects_ms"].as_array().unwrap().len();
    assert!(links.iter().all(|link| connects(link) >= 4), "{rtt}");
    let cards = network["cards"].as_array().unwrap();
    let interfaces: Vec<_> = cards.iter().map(|card| &card["interface"]).collect();
    assert_eq!(interfaces, ["v1", "v2"]);
    if tool("ethtool").is_file() {
        let offloads = cards[0]["offloads"].as_array().unwrap();
        let segmentation = |offload: &Value| offload == "tcp-segmentation-offload";
        assert!(offloads.iter().any(segmentation), "{offloads:?}");
    }
    let slices = table(&run.join("slices.csv"));
    assert!(slices.iter().all(|slice| number(slice, "requests") > 0));
    let blocks = table(&run.join("blocks.csv"));
    assert!(blocks.iter().all(|block| block["peers_user_ms"].is_empty()));
    let said = bench.report();
    for words in [
        "The network is real, and nothing was added to it",
        "on the hosts root@10.77.1.2, root@10.77.2.2, started by `ssh",
        "Before each run, TCP connects to them took ",
        "Central's network card: v1 (driver: unknown; speed in Mbit/s: 10000;",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
#[ignore = "exhaustive: another way to end"]
fn exhaustive_a_peer_that_dies_on_its_host_is_named_with_the_host() {
    if !can_have_hosts() {
        return;
    }
    let bench = Bench::new();
    let kill = r#"for it in /proc/[0-9]*; do
        case "$(readlink $it/exe)" in *libp2p-node) grep -qsz '^peer$' $it/cmdline && peer=$it;; esac
    done; kill -9 ${peer#/proc/}; wait $sweep"#;
    let output = with_hosts(&bench, &format!("{SWEEP}{RUNNING}{kill}"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let row = json(&bench.runs("run-1")[0].join("run.json"));
    let reason = row["reason"].as_str().unwrap();
    assert!(reason.contains(" on root@10.77."), "{reason}");
    assert!(reason.contains(" ended with exit code 255"), "{reason}");
}

#[test]
#[ignore = "exhaustive: another way to end"]
fn exhaustive_peers_on_other_hosts_end_with_a_sweep_that_is_killed() {
    if !can_have_hosts() {
        return;
    }
    let bench = Bench::new();
    let output = with_hosts(&bench, &format!("{SWEEP}{RUNNING}kill -9 $sweep"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(bench.runs("run-1.partial").len(), 1);
}

/// `env` starts a peer on this host, as ssh does on another.
#[test]
#[ignore = "exhaustive: other verbs"]
fn exhaustive_rr_and_soaks_have_peers_on_other_hosts_too() {
    let bench = Bench::new();
    let run = |arguments: &str| {
        let mut command = bench.command(&words(arguments));
        command.arg("--out").arg(bench.out());
        command.args(["--peer-command", "env HOST={host}"]);
        succeeds(&mut command);
        bench.assert_nothing_left();
    };
    run("rr --name run --seconds 1 --payload 64B --peer-hosts=here=127.0.77.1");
    let row = json(&bench.runs("run-1")[0].join("run.json"));
    assert_eq!(row["network"]["cards"][0]["interface"], "lo");
    let said = bench.report();
    assert!(said.contains("The network is real"), "{said}");
    assert!(!said.contains("virtual interfaces"), "{said}");
    run(
        "soak --name soak --hours 0.0017 --interval 1 --peers 1 --churn 30/min \
         --peer-hosts=here=127.0.77.1",
    );
    let end = &json(&bench.out().join("soak/soak.json"))["end"];
    assert!(end["restarts"].as_u64().unwrap() > 0, "{end}");
}

#[test]
fn hosts_that_cannot_be_used_are_one_line_and_nothing_is_written() {
    let bench = Bench::new();
    let other = bench.dir.path().join("other");
    let counting = node_program("libp2p-node-counting");
    fs::write(&other, format!("exec {} peer\n", counting.display())).unwrap();
    let other = format!("sh {} {{host}}", other.display());
    let sweep = || bench.sweep(&["--peer-hosts"]);
    let with_others = "
127.0.77.2 --rtt 5 => --rtt
127.0.77.2 --time 5min => --time
127.0.77.2 --peers 2 => --peers 2: --peer-hosts has fewer hosts (accepted: 1 to 1)
x=host.invalid => knows no address of \"host.invalid\"
";
    bench.refuses(sweep, with_others);
    let on = "127.0.77.2";
    for (host, command, says) in [
        (on, "/nowhere {host}", "could not start the process"),
        (on, "false {host}", "peer 1 on 127.0.77.2 does not listen"),
        (on, "echo {host}", "starts it prints \"127.0.77.2 /"),
        (on, &other, "the node program on its host is another one"),
        ("x=192.0.2.1", "env H={host}", "cannot listen on 192.0.2.1"),
    ] {
        let mut sweep = sweep();
        sweep.args([host, "--peer-command", command]);
        let complaint = complaint(&sweep.output().unwrap());
        assert!(complaint.contains(says), "{command}: {complaint}");
        assert!(!bench.out().exists(), "{command}");
    }
    bench.assert_nothing_left();
}
