#!/usr/bin/env bash
# Runs the bench; its packages are its own and are installed at the first use.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -e node_modules/.package-lock.json ]; then npm ci --no-fund --no-audit --loglevel=error; fi
if [ ! -e bench/node_modules/.package-lock.json ] || [ bench/package-lock.json -nt bench/node_modules/.package-lock.json ]; then
  npm ci --prefix bench --ignore-scripts --no-fund --no-audit --loglevel=error
fi
# BullMQ's rows need Redis; whoever may install packages gets it, others are told by the bench itself.
if ! command -v redis-server >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  case " $* " in
    *" --rows "*[45678]* | *" all "*) apt-get install -y -q redis-server >/dev/null ;;
  esac
fi
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning bench/src/main.ts "$@"
