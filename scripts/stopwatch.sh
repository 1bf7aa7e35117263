#!/usr/bin/env bash
# Measures the first minute as a newcomer has it: from `git clone`, and from `npm install -g` of the packed file, to the first COMPLETED job,
# and to one's own Python handler. Each run has an empty home, so npm downloads everything. It prints seconds and CPU seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-stopwatch-XXXXXX")
server=
end() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT

# Each run starts from nothing but the system's programs: no home, no cache, no settings.
fresh() {
  export HOME=$work/$1
  mkdir -p "$HOME"
  for name in ${!MILLRACE_@} ${!npm_config_@} NODE_COMPILE_CACHE XDG_CACHE_HOME XDG_CONFIG_HOME; do unset "$name"; done
  export MILLRACE_DOCKER=off MILLRACE_SANDBOX=optional
  PATH=$(printf %s "$PATH" | tr : '\n' | grep -v node_modules | paste -sd:)
  begun=$(date +%s%N)
}

seconds() { awk -v ns="$(($(date +%s%N) - begun))" 'BEGIN { printf "%.1f", ns / 1e9 }'; }

# The CPU time of everything that this run started and waited for. The shell itself knows it, so no other process may ask.
shown() {
  times >"$work/times"
  local spent
  spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] } printf "%.1f", sum }' "$work/times")
  echo "$1: $2 s, $spent CPU s"
}

# Waits until a file has a line, for two minutes at most.
line_in() {
  for _ in $(seq 1200); do
    grep -m1 -E "$2" "$1" 2>/dev/null && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  echo "stopwatch: '$2' did not come: $(tail -20 "$1")" >&2
  return 1
}

stop_server() {
  kill -TERM "$server"
  wait "$server" || true
  server=
}

# A server, an endpoint from an official template, and a job, as the README shows.
first_job() {
  "$1" serve --data "$HOME/data" --port 0 >"$HOME/log" 2>&1 &
  server=$!
  local url key endpoint
  url=$(line_in "$HOME/log" '^listening on ' | cut -d' ' -f3)
  key=$(cat "$HOME/data/api-key")
  call() { curl -sS --max-time 120 "$url/v2/$1" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$2"; }
  endpoint=$(call serverless '{"name": "echo", "templateId": "millrace-echo", "cpu": [{"id": "cpu3c", "vcpuCount": 2}]}' | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)
  call "$endpoint/runsync" '{"input": {"hello": "world"}}' | grep -q '"status":"COMPLETED"'
}

from_clone() (
  fresh clone
  git clone --quiet --depth 1 "file://$root" "$HOME/millrace"
  first_job "$HOME/millrace/millrace"
  local took; took=$(seconds)
  stop_server
  shown "from git clone to the first COMPLETED" "$took"
)

installed() { npm install --global --prefix "$HOME/npm" --no-audit --no-fund --loglevel=error "$tarball" >"$HOME/npm.log" 2>&1; }

from_npm() (
  fresh npm
  installed
  first_job "$HOME/npm/bin/millrace"
  local took; took=$(seconds)
  stop_server
  shown "from npm install -g to the first COMPLETED" "$took"
)

from_npm_to_python() (
  fresh python
  mkdir -p "$HOME/hello"
  cat >"$HOME/hello/handler.py" <<'PYTHON'
import runpod

def handler(job):
    return {"hello": job["input"]["name"]}

runpod.serverless.start({"handler": handler})
PYTHON
  echo '{"input": {"name": "mill"}}' >"$HOME/hello/test_input.json"
  sdk="the public worker SDK"
  if ! python3 -c 'import runpod' 2>/dev/null; then
    sdk="a stand-in for the public worker SDK, which this Python does not have"
    mkdir "$HOME/hello/runpod"
    cp "$root/scripts/testing/stand-in-sdk.py" "$HOME/hello/runpod/__init__.py"
  fi
  chmod -R o+rX "$work"
  begun=$(date +%s%N)
  installed
  "$HOME/npm/bin/millrace" dev "$HOME/hello" --port 0 >"$HOME/log" 2>&1 &
  server=$!
  line_in "$HOME/log" 'test_input.json: COMPLETED' >/dev/null
  local took; took=$(seconds)
  stop_server
  shown "from npm install -g to one's own Python handler, with $sdk" "$took"
)

tarball=$work/$(basename "$(PATH=$root/node_modules/.bin:$PATH node --disable-warning=ExperimentalWarning scripts/pack.ts "$work" | head -1)")
for run in ${*:-clone npm python}; do
  case $run in
    clone) from_clone ;;
    npm) from_npm ;;
    python) from_npm_to_python ;;
    *) echo "stopwatch: there is no run '$run': name clone, npm or python" >&2; exit 2 ;;
  esac
done
