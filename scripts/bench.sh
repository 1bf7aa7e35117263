#!/usr/bin/env bash
# Runs the bench. It has its own packages, which are installed at the first use.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -e node_modules/.package-lock.json ]; then npm ci --no-fund --no-audit --loglevel=error; fi
if [ ! -e bench/node_modules/.package-lock.json ] || [ bench/package-lock.json -nt bench/node_modules/.package-lock.json ]; then
  npm ci --prefix bench --ignore-scripts --no-fund --no-audit --loglevel=error
fi
# Some rows need other programs. They are installed if this user may do that. Otherwise the bench says what is missing.
rows=$(sed -n 's/.* --rows[ =]\([^ ]*\).*/\1/p' <<<" $*")
case " $* " in *" --check "*) rows=13 ;; esac
install() { # program, package, rows that need it
  local program=$1 package=$2 row
  shift 2
  if command -v "$program" >/dev/null 2>&1 || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then return; fi
  for row in all "$@"; do
    case ",$rows," in *",$row,"*) apt-get install -y -q "$package" >/dev/null && return ;; esac
  done
}
install redis-server redis-server 4 5 6 7
install nginx nginx-light 13 lb
install dockerd docker.io 14 starts 16 pods
install busybox busybox-static 14 starts 16 pods
install ip iproute2 14 starts 16 pods
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning bench/src/main.ts "$@"
