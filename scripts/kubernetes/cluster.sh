#!/usr/bin/env bash
# Makes a real Kubernetes cluster of two nodes on one bare Debian machine, for tests, and removes it again.
#
#   scripts/kubernetes/cluster.sh build [--source DIR]   builds Kubernetes with Go; clones the public repository without --source
#   scripts/kubernetes/cluster.sh up                     starts the cluster and writes a kubeconfig
#   scripts/kubernetes/cluster.sh image FOLDER NAME [ENTRYPOINT]  loads a folder as an image with this name on both nodes
#   scripts/kubernetes/cluster.sh lose a | find a        kills the kubelet of a node, as when a machine is lost; starts it again
#   scripts/kubernetes/cluster.sh down                   ends and removes everything but the programs that were built
#
# Each node is a network namespace with its own containerd and kubelet. Everything else of the machine is shared. GPUs are pretended:
# the nodes report the extended resource `nvidia.com/gpu` and the product labels of NVIDIA's GPU operator, but there are no devices.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
root=${MILLRACE_KUBERNETES_FOLDER:-/var/tmp/millrace-kubernetes}
bin=${MILLRACE_KUBERNETES_BIN:-$root/bin}
run=$root/run
version=${MILLRACE_KUBERNETES_VERSION:-v1.32.13}

bridge=mrk0
machine=10.217.0.1
declare -A address=([a]=10.217.0.11 [b]=10.217.0.12)
declare -A pods=([a]=10.218.1 [b]=10.218.2)
declare -A gpu=([a]=NVIDIA-L4 [b]=NVIDIA-A40)
declare -A gpus=([a]=3 [b]=4)
nodes="a b"
api=https://$machine:6443
kubeconfig=$run/admin.kubeconfig
controllers="cpu cpuacct cpuset memory devices freezer pids blkio systemd perf_event hugetlb net_cls net_prio unified"

say() { echo "$*" >&2; }

needs_root() {
  [ "$(id -u)" = 0 ] || { say "A cluster needs root: it makes network namespaces and control groups."; exit 1; }
}

# $1 is a command, the rest the Debian packages that bring it.
need() {
  local command=$1; shift
  command -v "$command" >/dev/null || [ -x "$command" ] && return
  say "installing $*"
  apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5 update -qq
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "$@" >/dev/null
}

# Kubernetes 1.32 needs Go 1.23 or newer, which Debian 13 has. On Debian 12, add Debian 13 to the sources with a low priority.
find_go() {
  local go
  for go in /usr/lib/go-1.2[3-9]/bin/go "$(command -v go || true)"; do
    [ -x "$go" ] && "$go" version | grep -qE 'go1\.(2[3-9]|[3-9][0-9])' && { echo "$go"; return; }
  done
  need /usr/lib/go-1.24/bin/go golang-1.24-go
  echo /usr/lib/go-1.24/bin/go
}

build() {
  local source="" go part
  [ "${1:-}" = --source ] && source=$2
  need gcc gcc libc6-dev
  go=$(find_go)
  if [ -z "$source" ]; then
    source=$root/source
    need git git ca-certificates
    [ -d "$source" ] || git clone --depth 1 --branch "$version" https://github.com/kubernetes/kubernetes "$source"
  fi
  mkdir -p "$bin"
  for part in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    [ -x "$bin/$part" ] && continue
    say "building $part"
    (cd "$source" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=vendor "$go" build -o "$bin/" \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" "./cmd/$part")
  done
  # The program that holds the namespaces of a Pod. It is one C file of Kubernetes.
  [ -x "$bin/pause" ] || gcc -Os -static -DVERSION="$version" -o "$bin/pause" "$source/build/pause/linux/pause.c"
}

make_certificates() {
  local pki=$run/pki; mkdir -p "$pki"; cd "$pki"
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=millrace-test -keyout ca.key -out ca.crt 2>/dev/null
  openssl genrsa -out sa.key 2048 2>/dev/null; openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
  certificate apiserver /CN=kube-apiserver "IP:$machine,IP:127.0.0.1,IP:10.219.0.1,DNS:kubernetes.default.svc"
  certificate admin /O=system:masters/CN=admin
  certificate controller /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate proxy /CN=system:kube-proxy
  local node
  for node in $nodes; do certificate "node-$node" "/O=system:nodes/CN=system:node:node-$node" "IP:${address[$node]},DNS:node-$node"; done
  local name
  for name in admin controller scheduler proxy node-a node-b; do kubeconfig_for "$name"; done
  cp "$run/pki/admin.kubeconfig" "$kubeconfig"; chmod 600 "$kubeconfig"
}

# $1 name, $2 subject, $3 alternative names
certificate() {
  local extensions=""
  [ -n "${3:-}" ] && extensions="subjectAltName=$3"
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out "$1.crt" \
    -extfile <(printf 'extendedKeyUsage=clientAuth,serverAuth\n%s\n' "$extensions") 2>/dev/null
}

kubeconfig_for() {
  cat >"$run/pki/$1.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{ name: test, cluster: { server: "$api", certificate-authority-data: $(base64 -w0 "$run/pki/ca.crt") } }]
users: [{ name: user, user: { client-certificate-data: $(base64 -w0 "$run/pki/$1.crt"), client-key-data: $(base64 -w0 "$run/pki/$1.key") } }]
contexts: [{ name: test, context: { cluster: test, user: user } }]
current-context: test
END
}

# Starts a program that outlives this command, and remembers its process. $1 is its name.
start() {
  local name=$1; shift
  setsid "$@" >"$run/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}

inside() { local node=$1; shift; echo "nsenter --net=/run/netns/mrk-$node $*"; }

make_network() {
  ip link add "$bridge" type bridge; ip addr add "$machine/24" dev "$bridge"; ip link set "$bridge" up
  # Addresses that a load balancer of a cloud would have: the nodes answer for them.
  ip route add 10.217.1.0/24 via "${address[a]}"
  local node other
  for node in $nodes; do
    ip netns add "mrk-$node"
    ip link add "mrk-$node" type veth peer name eth0 netns "mrk-$node"
    ip link set "mrk-$node" master "$bridge" up
    ip -n "mrk-$node" addr add "${address[$node]}/24" dev eth0
    ip -n "mrk-$node" link set eth0 up; ip -n "mrk-$node" link set lo up
    ip -n "mrk-$node" route add default via "$machine"
    $(inside "$node" sysctl -qw) net.ipv4.ip_forward=1
    ip route add "${pods[$node]}.0/24" via "${address[$node]}"
    for other in $nodes; do
      [ "$other" = "$node" ] || ip -n "mrk-$node" route add "${pods[$other]}.0/24" via "${address[$other]}"
    done
  done
}

start_control() {
  mkdir -p "$run/etcd"
  start etcd etcd --data-dir "$run/etcd" --listen-client-urls http://127.0.0.1:2399 --advertise-client-urls http://127.0.0.1:2399 \
    --listen-peer-urls http://127.0.0.1:2398 --initial-advertise-peer-urls http://127.0.0.1:2398 \
    --initial-cluster default=http://127.0.0.1:2398 --unsafe-no-fsync
  local pki=$run/pki
  start apiserver "$bin/kube-apiserver" --etcd-servers http://127.0.0.1:2399 --bind-address "$machine" --advertise-address "$machine" \
    --service-cluster-ip-range 10.219.0.0/16 --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
    --client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
    --kubelet-preferred-address-types InternalIP --kubelet-client-certificate "$pki/admin.crt" --kubelet-client-key "$pki/admin.key" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$pki/sa.pub" \
    --service-account-signing-key-file "$pki/sa.key" --allow-privileged=true --v=1
  start controller "$bin/kube-controller-manager" --kubeconfig "$pki/controller.kubeconfig" --service-account-private-key-file "$pki/sa.key" \
    --root-ca-file "$pki/ca.crt" --use-service-account-credentials=true --leader-elect=false \
    --node-monitor-grace-period 12s --node-monitor-period 2s --v=1
  start scheduler "$bin/kube-scheduler" --kubeconfig "$pki/scheduler.kubeconfig" --leader-elect=false --v=1
}

prepare_node() {
  local node=$1 folder=$run/node-$1 controller port
  mkdir -p "$folder"/{containerd,containerd-state,kubelet,logs,cni,ipam,manifests,volume-plugins}
  for controller in $controllers; do
    [ -d "/sys/fs/cgroup/$controller" ] && mkdir -p "/sys/fs/cgroup/$controller/mrk-$node"
  done
  if [ -d "/sys/fs/cgroup/cpuset/mrk-$node" ]; then
    cat /sys/fs/cgroup/cpuset/cpuset.cpus >"/sys/fs/cgroup/cpuset/mrk-$node/cpuset.cpus"
    cat /sys/fs/cgroup/cpuset/cpuset.mems >"/sys/fs/cgroup/cpuset/mrk-$node/cpuset.mems"
  elif [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir -p "/sys/fs/cgroup/mrk-$node"
  fi
  # Each Pod has a link of its own to the node, so that all its traffic passes the node's packet filter.
  cat >"$folder/cni/10-pods.conflist" <<END
{ "cniVersion": "0.4.0", "name": "pods", "plugins": [
  { "type": "ptp", "ipMasq": false, "mtu": 1500,
    "ipam": { "type": "host-local", "dataDir": "$folder/ipam", "ranges": [[{ "subnet": "${pods[$node]}.0/24" }]], "routes": [{ "dst": "0.0.0.0/0" }] } },
  { "type": "portmap", "capabilities": { "portMappings": true } } ] }
END
  # Registries of tests, at ports of the machine's end of the bridge, have no certificates.
  for port in $(seq 5001 5016); do
    mkdir -p "$folder/registries/$machine:$port"
    printf 'server = "http://%s"\n[host."http://%s"]\n' "$machine:$port" "$machine:$port" >"$folder/registries/$machine:$port/hosts.toml"
  done
  cat >"$folder/containerd.toml" <<END
version = 2
root = "$folder/containerd"
state = "$folder/containerd-state"
oom_score = 0
[grpc]
  address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "millrace.test/pause:1"
  max_container_log_line_size = 16384
  # Not every machine lets root lower the score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$folder/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = false
    Root = "$folder/runc"
END
  cat >"$folder/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ${address[$node]}
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: $run/pki/ca.crt } }
authorization: { mode: Webhook }
tlsCertFile: $run/pki/node-$node.crt
tlsPrivateKeyFile: $run/pki/node-$node.key
cgroupDriver: cgroupfs
cgroupRoot: /mrk-$node
podLogsDir: $folder/logs
failSwapOn: false
oomScoreAdj: 0
podPidsLimit: 4096
containerRuntimeEndpoint: unix://$folder/containerd.sock
volumePluginDir: $folder/volume-plugins
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 8
nodeStatusReportFrequency: 1m
nodeStatusMaxImages: -1
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: { memory.available: 200Mi, nodefs.available: 1%, imagefs.available: 1% }
resolvConf: ""
clusterDNS: [10.219.0.10]
registerNode: true
serializeImagePulls: false
END
}

start_runtime() {
  prepare_node "$1"
  start "containerd-$1" $(inside "$1" containerd --config "$run/node-$1/containerd.toml" --log-level warn)
}

start_node() {
  local node=$1 folder=$run/node-$1
  # A kubelet that finds no runtime ends.
  wait_for "containerd of node-$node" ctr_of "$node" version
  start_kubelet "$node"
  # Nothing of conntrack is set: those settings belong to the whole machine.
  cat >"$folder/proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
hostnameOverride: node-$node
clientConnection: { kubeconfig: $run/pki/proxy.kubeconfig }
mode: iptables
clusterCIDR: 10.218.0.0/16
iptables: { minSyncPeriod: 100ms }
conntrack: { maxPerCore: 0, min: 0, tcpCloseWaitTimeout: 0s, tcpEstablishedTimeout: 0s }
healthzBindAddress: ${address[$node]}:10256
metricsBindAddress: ${address[$node]}:10249
END
  start "proxy-$node" $(inside "$node" "$bin/kube-proxy" --config "$folder/proxy.yaml")
}

start_kubelet() {
  local node=$1 folder=$run/node-$1
  start "kubelet-$node" $(inside "$node" "$bin/kubelet" --config "$folder/kubelet.yaml" --kubeconfig "$run/pki/node-$node.kubeconfig" \
    --root-dir "$folder/kubelet" --hostname-override "node-$node" --node-ip "${address[$node]}" \
    --housekeeping-interval 1s --node-labels "nvidia.com/gpu.product=${gpu[$node]}" --v=1)
}

ctr_of() { local node=$1; shift; ctr --address "$run/node-$node/containerd.sock" -n k8s.io "$@"; }

# $1 folder, $2 name, $3 the entrypoint of the image as JSON, $4 the nodes
load_image() {
  local folder=$1 name=$2 command=${3:-null} work node
  work=$(mktemp -d "$root/image.XXXXXX")
  tar -C "$folder" -cf "$work/layer.tar" .
  local layer; layer=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
  mv "$work/layer.tar" "$work/$layer.tar"
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":%s,"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(dpkg --print-architecture)" "$command" "$layer" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["%s.tar"]}]' "$name" "$layer" >"$work/manifest.json"
  tar -C "$work" -cf "$work.tar" manifest.json config.json "$layer.tar"
  for node in ${4:-$nodes}; do ctr_of "$node" images import "$work.tar" >/dev/null; done
  rm -rf "$work" "$work.tar"
}

# $1 is what to wait for, the rest a command that succeeds once it is there.
wait_for() {
  local what=$1 tries; shift
  for tries in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
  say "$what is not there after two minutes: see the logs in $run, then run $0 down"; exit 1
}

kubectl() { "$bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }

is_ready() { kubectl get nodes --no-headers | grep -c ' Ready ' | grep -qx 2; }

# $1 node, $2 resource, $3 count
pretend() {
  kubectl patch node "node-$1" --subresource=status --type=json \
    -p "[{\"op\":\"add\",\"path\":\"/status/capacity/$2\",\"value\":\"$3\"}]" >/dev/null
}

pretend_gpus() {
  local node
  for node in $nodes; do
    kubectl label node "node-$node" --overwrite nvidia.com/gpu.memory=81920 nvidia.com/cuda.driver.major=12 \
      nvidia.com/cuda.runtime.major=12 nvidia.com/cuda.runtime.minor=8 millrace.dev/pretended-gpus=true \
      millrace.test/product=NVIDIA-A40 >/dev/null
    # GPUs of one type on both nodes, for clusters whose members spread over nodes.
    pretend "$node" millrace.test~1spread 2
    pretend "$node" nvidia.com~1gpu "${gpus[$node]}"
  done
  # Tests that run side by side each have GPUs of their own.
  for node in $(seq 0 7); do pretend a "millrace.test~1gpu-$node" 3; done
}

up() {
  needs_root
  [ -e "$run/up" ] && { say "the cluster is up: $kubeconfig"; echo "$kubeconfig"; return; }
  [ -x "$bin/kubelet" ] || { say "there is no Kubernetes in $bin: run '$0 build' first"; exit 1; }
  need openssl openssl; need ip iproute2; need iptables iptables; need nft nftables; need nsenter util-linux
  need etcd etcd-server; need containerd containerd; need runc runc; need conntrack conntrack
  need /usr/lib/cni/ptp containernetworking-plugins; need busybox busybox-static
  down
  mkdir -p "$run" "$root/shared"; chmod 700 "$run"
  trap 'down' ERR
  local begun=$(date +%s%N) pause
  make_certificates; make_network; start_control
  for node in $nodes; do start_runtime "$node"; done
  for node in $nodes; do start_node "$node"; done
  pause=$(mktemp -d "$root/pause.XXXXXX"); cp "$bin/pause" "$pause/pause"; load_image "$pause" millrace.test/pause:1 '["/pause"]'
  rm -rf "$pause"; pause=$(mktemp -d "$root/names.XXXXXX")
  mkdir -p "$pause/bin"; cp "$(command -v busybox)" "$pause/bin/busybox"; ln -s busybox "$pause/bin/sh"
  for tool in cat sleep; do ln -s busybox "$pause/bin/$tool"; done
  load_image "$pause" millrace.test/busybox:1 '["/bin/sh"]'; rm -rf "$pause"
  wait_for "the API server" kubectl get --raw /readyz
  kubectl create clusterrolebinding kube-proxy --clusterrole system:node-proxier --user system:kube-proxy >/dev/null
  wait_for "a ready node" is_ready
  wait_for "the service account of Pods" kubectl get serviceaccount default
  local ready=$((($(date +%s%N) - begun) / 1000000))
  pretend_gpus
  # Debian has no network plugin that enforces network policies, so this one does.
  start policies env KUBECONFIG="$kubeconfig" "$repository/node_modules/.bin/node" --disable-warning=ExperimentalWarning \
    "$here/network-policies.ts" "mrk-a=node-a" "mrk-b=node-b"
  # Nor does it have anything that makes volumes for claims.
  start storage env KUBECONFIG="$kubeconfig" "$repository/node_modules/.bin/node" --disable-warning=ExperimentalWarning \
    "$here/storage.ts" "$root/shared/claims"
  trap - ERR
  touch "$run/up"
  say "Kubernetes $("$bin/kubelet" --version | cut -d' ' -f2): two nodes were Ready after $ready ms"
  echo "$kubeconfig"
}

# Not so for a process that has ended and that nobody has asked for yet.
is_alive() { [ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }

# $1 is the program's name, $2 the signal.
end() {
  local file=$run/$1.pid pid
  [ -f "$file" ] || return 0
  pid=$(cat "$file"); rm -f "$file"
  kill "${2:--TERM}" "$pid" 2>/dev/null || return 0
  for _ in $(seq 50); do is_alive "$pid" || return 0; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
}

down() {
  needs_root
  local node controller name pid task
  rm -f "$run/up"
  for name in policies storage proxy-a proxy-b kubelet-a kubelet-b; do end "$name" -KILL; done
  for node in $nodes; do
    # Programs that still run are ended by their control group, before the runtime that looks after them.
    for controller in pids memory ""; do
      [ -d "/sys/fs/cgroup/$controller/mrk-$node" ] || continue
      for pid in $(find "/sys/fs/cgroup/$controller/mrk-$node" -name cgroup.procs -exec cat {} + 2>/dev/null); do
        kill -KILL "$pid" 2>/dev/null || true
      done
    done
    if [ -S "$run/node-$node/containerd.sock" ] && is_alive "$(cat "$run/containerd-$node.pid" 2>/dev/null)"; then
      sleep 0.5
      for task in $(ctr_of "$node" tasks ls -q 2>/dev/null); do timeout 5 ctr --address "$run/node-$node/containerd.sock" -n k8s.io tasks rm -f "$task" >/dev/null 2>&1 || true; done
    fi
    end "containerd-$node"
    for pid in $(pgrep -f "containerd-shim-runc-v2 .*-address $run/node-$node/containerd.sock" || true); do kill -KILL "$pid" 2>/dev/null || true; done
  done
  for name in scheduler controller apiserver etcd; do end "$name" -KILL; done
  { grep -o " $run/[^ ]*" /proc/self/mounts || true; } | sort -r | while read -r name; do umount -l "$name" 2>/dev/null || true; done
  # The runtime made a network namespace for each Pod. Other clusters may have namespaces of the same form, so the address decides,
  # which is gone once the namespace of the node is.
  for name in $(ip netns list 2>/dev/null | grep -o '^cni-[^ ]*' || true); do
    ip -n "$name" -4 addr 2>/dev/null | grep -qE 'inet 10\.218\.[12]\.' && ip netns del "$name" || true
  done
  for node in $nodes; do
    ip netns del "mrk-$node" 2>/dev/null || true
    ip link del "mrk-$node" 2>/dev/null || true
    for controller in $controllers ""; do
      [ -d "/sys/fs/cgroup/$controller/mrk-$node" ] && find "/sys/fs/cgroup/$controller/mrk-$node" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
  done
  ip link del "$bridge" 2>/dev/null || true
  # The nodes share the machine's folder of links to logs.
  for name in /var/log/containers/*; do
    case "$(readlink "$name" 2>/dev/null || true)" in "$run"/*) rm -f "$name" ;; esac
  done
  rm -rf "$run" "$root/shared" "$root"/image.* "$root"/pause.* "$root"/names.*
}

case "${1:-}" in
  build) shift; build "$@" ;;
  up) up ;;
  down) down ;;
  image) load_image "$2" "$3" "${4:-null}" ;;
  lose) end "kubelet-$2" -KILL ;;
  find) start_kubelet "$2" ;;
  kubectl) shift; kubectl "$@" ;;
  *) sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
