#!/usr/bin/env bash
# Measures the polls of a libp2p-style swarm over peers × round-trip time × payload on this machine:
# builds, checks what the machine can do, sweeps. All options go to `latency-benchmark sweep`.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
benchmark="$here/target/release/latency-benchmark"

die() {
    echo "error: $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || die "the lab is made of Linux network namespaces; this is $(uname -s)"
command -v cargo >/dev/null || die "cargo is missing: install Rust 1.89 or newer (https://rustup.rs)"

cargo build --release --locked --quiet --manifest-path "$here/Cargo.toml" --package latency-benchmark ||
    die "the build failed, see above"

# What only prints needs no lab, and what is mistyped should not have to wait for one.
check=yes
for option in "$@"; do
    case "$option" in
        -h | --help | --list | --dry-run) exec "$benchmark" sweep "$@" ;;
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
exec "$benchmark" sweep "$@"
