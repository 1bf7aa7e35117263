#!/usr/bin/env bash
# Runs the bench; its packages are its own and are installed at the first use.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -e node_modules/.package-lock.json ]; then npm ci --no-fund --no-audit --loglevel=error; fi
if [ ! -e bench/node_modules/.package-lock.json ] || [ bench/package-lock.json -nt bench/node_modules/.package-lock.json ]; then
  npm ci --prefix bench --ignore-scripts --no-fund --no-audit --loglevel=error
fi
# Some rows need other programs; whoever may install packages gets them, others are told by the bench itself.
install() { # program, package, rows as a pattern
  if ! command -v "$1" >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    case " ${*:4} " in
      *" --rows "*$3* | *" all "*) apt-get install -y -q "$2" >/dev/null ;;
    esac
  fi
}
install redis-server redis-server '[45678]' "$@"
install nginx nginx-light 'lb' "$@"
install dockerd docker.io 'starts' "$@"
install busybox busybox-static 'starts' "$@"
install ip iproute2 'starts' "$@"
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning bench/src/main.ts "$@"
