#!/bin/sh
# Packs the worker library into the given folder, or this one, with the pinned Node, whatever Node the machine has.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

if [ ! -x "$root/node_modules/.bin/tsc" ]; then
  echo "pack-worker: needs the TypeScript compiler, which the server does without: run 'npm install --include=dev' in $root, then this again" >&2
  exit 1
fi
for node in "$root"/node_modules/node-linux-*/bin/node; do
  [ ! -x "$node" ] || exec "$node" "$root/scripts/pack-libraries.ts" "$@"
done
node=$(command -v node) && [ "$("$node" -p 'process.versions.node.split(".")[0]')" -ge 24 ] || {
  echo "pack-worker: needs Node 24 or later: run 'npm install' in $root (it brings Node 24 on Linux) or install it" >&2
  exit 1
}
exec "$node" "$root/scripts/pack-libraries.ts" "$@"
