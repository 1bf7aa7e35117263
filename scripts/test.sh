#!/usr/bin/env bash
# The test commands: installs what is missing, then runs every stage and says how long each took. With `--all`, runs every test there is.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -x node_modules/.bin/vitest ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  started=$SECONDS
  npm ci --no-fund --no-audit --loglevel=error
  echo "stage install: $((SECONDS - started)) s"
fi
sh scripts/sandbox.sh
# The tests reach Pods with the programs that people use, such as sftp, and the console with a real browser. Clusters over machines encrypt.
if [ "${1:-}" = --all ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  wanted=
  command -v sftp >/dev/null || wanted="$wanted openssh-client"
  command -v chromium >/dev/null || wanted="$wanted chromium"
  command -v promtool >/dev/null || wanted="$wanted prometheus"
  command -v pg_dump >/dev/null || wanted="$wanted postgresql"
  command -v nginx >/dev/null || wanted="$wanted nginx-light"
  command -v wg >/dev/null || wanted="$wanted wireguard-tools"
  command -v wireguard-go >/dev/null || wanted="$wanted wireguard-go"
  if [ -n "$wanted" ]; then
    patient="-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5"
    apt-get $patient update -qq
    # A system without one of them goes on without it, and its tests say why they do not run.
    for package in $wanted; do
      # Without a run level no package starts its service.
      RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get $patient install -qq -y --no-install-recommends "$package" >/dev/null ||
        echo "$package could not be installed: tests that need it do not run" >&2
    done
  fi
fi
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning scripts/test.ts "$@"
