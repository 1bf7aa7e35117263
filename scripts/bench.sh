#!/usr/bin/env bash
# Runs the bench; its packages are its own and are installed at the first use.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -e node_modules/.package-lock.json ]; then npm ci --no-fund --no-audit --loglevel=error; fi
if [ ! -e bench/node_modules/.package-lock.json ] || [ bench/package-lock.json -nt bench/node_modules/.package-lock.json ]; then
  npm ci --prefix bench --no-fund --no-audit --loglevel=error
fi
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning bench/src/main.ts "$@"
