#!/usr/bin/env bash
# Runs all or some Kubernetes tests on the cluster of a kubeconfig. `scripts/kubernetes/cluster.sh` makes such a cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"

config=${MILLRACE_TEST_KUBECONFIG:-${KUBECONFIG:-}}
if [ -z "$config" ]; then
  echo "The Kubernetes tests did not run: neither MILLRACE_TEST_KUBECONFIG nor KUBECONFIG names a cluster. scripts/kubernetes/cluster.sh makes one." >&2
  exit 0
fi
[ -r "$config" ] || { echo "The Kubernetes tests cannot run: there is no kubeconfig $config." >&2; exit 1; }
MILLRACE_TEST_KUBECONFIG=$config exec vitest run --project kubernetes "$@"
