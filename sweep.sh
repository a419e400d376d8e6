#!/usr/bin/env bash
# Measures the polls of a libp2p swarm over peers × round-trip time × payload on this machine, and writes a
# report. It builds the tool, which builds, checks and does all else: see `./sweep.sh --help`.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

die() {
    echo "error: $*" >&2
    exit 1
}

# What is only asked, or mistyped, needs no build. A test compares this text with the program's own.
help="$here/latency-benchmark/sweep-help.txt"
for word in "$@"; do
    case "$word" in
    -h | --help)
        cat "$help"
        exit
        ;;
    -V | --version)
        sed -n 's/^version = "\(.*\)"$/latency-benchmark-sweep \1/p' "$here/latency-benchmark/Cargo.toml"
        exit
        ;;
    -[a-zA-Z-]*)
        if ! grep -qxF -e "${word%%=*}" <<<"$(tr -s ' ,' '\n' <"$help")"; then
            echo "error: unexpected argument '${word%%=*}' found (see --help)" >&2
            exit 2
        fi
        ;;
    esac
done

[ "$(uname -s)" = Linux ] || die "this needs Linux, because it uses network namespaces (this is $(uname -s))"
command -v cargo >/dev/null || die "cargo is missing: install Rust 1.91 or newer (https://rustup.rs)"
[ -x "$here/target/tools/latency-benchmark" ] || echo "building (the first build takes some minutes)" >&2
# In a process group of its own, which a signal ends together with this script.
set -m
cargo build --locked --manifest-path "$here/Cargo.toml" --target-dir "$here/target" \
    --profile tools --package latency-benchmark --package analysis &
build=$!
set +m
trap 'kill -TERM -- "-$build" || true; exit 130' INT TERM HUP
wait "$build" || die "the build failed, see above"
trap - INT TERM HUP
# A lab needs two packages. Without root, the tool says what is missing.
missing=()
case " $* " in
*" --dry-run "* | *" --peer-hosts"* | *" --gate "*) ;;
*)
    PATH="$PATH:/usr/sbin:/sbin" command -v ip >/dev/null || missing+=(iproute2)
    PATH="$PATH:/usr/sbin:/sbin" command -v iptables >/dev/null || missing+=(iptables)
    ;;
esac
if [ "${#missing[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}" >&2
    { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 </dev/null ||
        echo "warning: they could not be installed" >&2
fi
exec "$here/target/tools/latency-benchmark" sweep "$@"
