#!/usr/bin/env bash
# Runs all or some Docker tests on an engine of their own, and installs Docker if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"

if [ "$(id -u)" != 0 ]; then
  echo "The Docker tests start an engine of their own, which only root can: they are not run." >&2
  exit 0
fi
for program in dockerd docker-registry busybox ip nft unshare sftp; do
  if ! command -v "$program" >/dev/null; then
    command -v apt-get >/dev/null || { echo "The Docker tests need $program." >&2; exit 1; }
    # Another installation may be running, and a mirror may fail for a moment. Neither should fail this one.
    patient="-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5"
    apt-get $patient update -qq
    DEBIAN_FRONTEND=noninteractive apt-get $patient install -qq -y --no-install-recommends docker.io docker-registry busybox-static iproute2 nftables util-linux openssh-client >/dev/null
    break
  fi
done

# In its own namespaces the engine cannot disturb another one on this machine, because it shares no bridges or packet filters with it.
# Everything it started ends with this command. The shell stays as the first process, which adopts and reaps orphans.
export MILLRACE_TEST_NAMESPACE=1
exec unshare --net --mount --pid --fork --mount-proc --kill-child \
  bash -c 'ip link set lo up; vitest run --project docker "$@"; exit $?' bash "$@"
