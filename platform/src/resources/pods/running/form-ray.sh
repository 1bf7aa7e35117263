# Starts Ray inside a member of a cluster: the head on rank 0, a worker on every other one. A Ray that already runs is left alone. MEMBER_IP
# is the member's own IP address, even if NODE_ADDR is a name.
runs() {
  for name in /proc/[0-9]*/comm; do [ "$(cat "$name" 2>/dev/null)" = "$1" ] && return 0; done
  return 1
}

command -v ray >/dev/null 2>&1 || {
  echo "Ray is not in this image: its program starts without it"
  exit 0
}
runs raylet && exit 0
if [ "$NODE_RANK" = 0 ]; then
  ray start --head --node-ip-address="$MEMBER_IP" --port=6379 --disable-usage-stats >/tmp/ray-start.log 2>&1 || {
    status=$?
    tail -n 5 /tmp/ray-start.log
    exit "$status"
  }
  echo "Ray's head runs at $NODE_ADDR:6379"
else
  # The head may start later, so this asks to be run again.
  ray start --address="$PRIMARY_ADDR:6379" --node-ip-address="$MEMBER_IP" --disable-usage-stats >/tmp/ray-start.log 2>&1 || exit 75
  echo "joined Ray at $PRIMARY_ADDR:6379"
fi
