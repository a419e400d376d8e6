#!/usr/bin/env bash
# Measures the polls of a libp2p-style swarm over peers × round-trip time × payload on this machine:
# builds, checks what the machine can do, sweeps, and reports. `--explain` then has the worst cells run
# again, to find out why they are slow. All other options go to `latency-benchmark sweep`;
# `analysis report` makes other reports of the same run afterwards.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
benchmark="$here/target/release/latency-benchmark"
analysis="$here/target/analysis/analysis"

die() {
    echo "error: $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || die "the lab is made of Linux network namespaces; this is $(uname -s)"
command -v cargo >/dev/null || die "cargo is missing: install Rust 1.90 or newer (https://rustup.rs)"

building=(cargo build --locked --quiet --manifest-path "$here/Cargo.toml")
build() {
    "${building[@]}" "$@" || die "the build failed, see above"
}

explain=
options=()
resumed=
before=
# What the nodes can do only when asked for is built only then: most of it is cryptography.
quic=
tls=
unexplained=
one_program="cells that compare subjects cannot be explained (sweep a checkout alone)"
one_worker="only one worker can be looked at (accepted with it: --workers 1)"
for option in "$@"; do
    if [ "$option" = --explain ]; then explain=yes; else options+=("$option"); fi
    # An option and its value are two words or one, and only in one the option comes after the space.
    case "$before $option" in
        "--transport quic" | *" --transport=quic") quic=yes ;;
        "--security tls" | *" --security=tls") tls=yes ;;
        "--resume "* | *" --resume="*) resumed="${option#--resume=}" ;;
        *" --subject"* | *" --yamux"*) unexplained="$one_program" ;;
        "--workers 1" | *" --workers=1") ;;
        "--workers "* | *" --workers="*) unexplained="$one_worker" ;;
    esac
    before="$option"
done
set -- ${options[@]+"${options[@]}"}
if [ -f "$resumed/manifest.json" ]; then
    asked_for() { grep -q "$1" "$resumed/manifest.json"; }
    ! asked_for '"transport": "quic"' || quic=yes
    ! asked_for '"security": "tls"' || tls=yes
    asked_for '"workers": 1,' || unexplained="$one_worker"
    ! asked_for '"subjects": \[' || unexplained="$one_program"
fi
if [ -n "$explain" ] && [ -n "$unexplained" ]; then
    echo "error: --explain: $unexplained" >&2
    exit 2
fi
features="${quic:+quic,}${tls:+tls}"

# What reports is built beside it: neither fills both cores to its end. Nothing is built while a sweep
# measures, so it waits for this.
"${building[@]}" --profile analysis --package analysis &
beside=$!
trap 'kill "$beside" 2>/dev/null || true' EXIT
build --release --package latency-benchmark --bin latency-benchmark --features "$features"

# What only prints needs no lab, and what is mistyped should not have to wait for one.
check=yes
for option in "$@"; do
    case "$option" in
        -h | --help)
            "$benchmark" sweep "$@"
            echo
            echo "With ./sweep.sh: --explain then runs the worst cells again to find out why they are slow."
            exit
            ;;
        --list | --dry-run)
            "$benchmark" sweep "$@"
            exit
            ;;
        --resume | --resume=*) check= ;;
    esac
done
[ -z "$check" ] || "$benchmark" sweep "$@" --list >/dev/null

missing=()
PATH="$PATH:/usr/sbin:/sbin"
command -v ip >/dev/null || missing+=(iproute2)
command -v iptables >/dev/null || missing+=(iptables)
if [ "${#missing[@]}" -gt 0 ] && command -v apt-get >/dev/null; then
    if [ "$(id -u)" = 0 ]; then
        echo "installing ${missing[*]}" >&2
        { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } >/dev/null ||
            echo "warning: they could not be installed" >&2
    else
        echo "warning: missing packages; install them by: sudo apt-get install ${missing[*]}" >&2
    fi
fi

"$benchmark" preflight --brief >&2 || die "no cell can run on this machine, see above"

wait "$beside" || die "the build failed, see above"
trap - EXIT
[ -z "$explain" ] || build --release --package latency-benchmark --bins --features "$features"

# Ctrl-C is the sweep's to handle: it finishes its slice, and what there is gets its report.
trap : INT
said="$(mktemp)"
trap 'rm -f "$said"' EXIT
code=0
"$benchmark" sweep "$@" >"$said" || code=$?
cat "$said"
# The last line names the folder of the run; if it was mistyped there is none.
run="$(tail -n 1 "$said")"
if [ -f "$run/manifest.json" ]; then
    if [ -n "$explain" ] && [ "$code" -le 1 ]; then
        "$benchmark" explain "$run" >/dev/null || code=$?
    fi
    report=0
    "$analysis" report "$run" || report=$?
    [ "$code" != 0 ] || code=$report
fi
exit "$code"
