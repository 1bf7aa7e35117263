#!/bin/sh
# Starts Millrace as npm installed it, with the Node that came along, whatever Node the machine has.
set -eu

self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=${self%/*}/$target ;;
  esac
done
root=$(CDPATH='' cd -- "${self%/*}" && pwd)

# npm puts a dependency inside the package, or beside it.
packed_node() {
  for node in "$root"/node_modules/node-linux-*/bin/node "$root"/../node-linux-*/bin/node; do
    [ ! -x "$node" ] || return 0
  done
  return 1
}
host_node() {
  node=$(command -v node) && [ "$("$node" -p 'process.versions.node.split(".")[0]')" -ge 24 ]
}
packed_node || host_node || {
  echo "millrace: needs Node 24 or later, and npm did not bring it (was it told to omit optional packages?); install Node 24, or run 'npm install -g millrace' again" >&2
  exit 1
}

# The package's folder may be read-only, and belongs to npm. A service of systemd that runs as root has no HOME. The folder must be this
# user's own, and not one of /tmp: whoever can write compiled code there runs it as this user.
home=${HOME:-$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)}
cache=${XDG_CACHE_HOME:-${home:+$home/.cache}}
cache=${cache:+$cache/millrace}
case ${1:-} in serve | dev) is_server=yes ;; *) is_server= ;; esac
# An image has what it needs, and nothing can be installed on a read-only file system.
if [ "$is_server" ] && [ -n "$cache" ] && [ "${MILLRACE_INSTALLED_AS:-}" != image ] && [ "$(id -u)" = 0 ] && [ ! -e "$cache/sandbox-tried" ]; then
  mkdir -p "$cache" 2>/dev/null && touch "$cache/sandbox-tried" 2>/dev/null || true
  sh "$root/scripts/sandbox.sh"
fi
if [ "$is_server" ]; then
  compiled=compiled-server
  # Every connection needs a file descriptor, so the limit is raised as far as the machine allows. Node does the same where it can.
  ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
else
  compiled=compiled
fi
if [ -n "$cache" ]; then
  : "${NODE_COMPILE_CACHE:=$cache/$compiled}"
  export NODE_COMPILE_CACHE
fi
# Freed long bodies go back to the system. Without this the C library keeps longer and longer ones.
: "${MALLOC_MMAP_THRESHOLD_:=4194304}"
export MALLOC_MMAP_THRESHOLD_
# The young generation begins as large as a server's soon is, so that starts wait less for the collector: 5 of 80 ms for a command.
exec "$node" --min-semi-space-size=16 --disable-warning=ExperimentalWarning "$root/built/main.cjs" "$@"
