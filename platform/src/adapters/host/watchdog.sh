#!/bin/sh
# Ends the workers of a data folder when its server is gone and none comes back in time. It leaves Pods alone.
#   watchdog.sh FOLDER SECONDS BRIDGE TABLE CGROUPS...
# FOLDER holds a folder for each instance, and `.server`, the line of /proc/<pid>/stat that identifies the server.
set -u
folder=$1 patience=$2 bridge=$3 table=$4
shift 4
step=2
[ "$patience" -ge 4 ] || step=1

read -r stat <"/proc/$$/stat"
echo "$stat" >"$folder/.watchdog" || exit 1

# A process's start time, which distinguishes it from a later one with the same number: the 20th word after the name in brackets.
start_of() {
  set -- ${1##*) }
  echo "${20:-}"
}

server_lives() {
  { read -r kept <"$folder/.server" && read -r now <"/proc/${kept%% *}/stat"; } 2>/dev/null || return 1
  [ "$(start_of "$kept")" = "$(start_of "$now")" ]
}

# Folders of instances that still run: all of them, or only those that contain the named file.
running() {
  for instance in "$folder"/*/; do
    [ -f "$instance/${1:-identity}" ] && [ ! -e "$instance/exit" ] && echo "$instance"
  done
}

# Folders of instances whose launcher has not begun yet, if the server started it at all.
starting() {
  for instance in "$folder"/*/; do
    [ -e "$instance/spec.json" ] && [ ! -e "$instance/identity" ] && echo "$instance"
  done
}

below() {
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
    echo "$child"
    below "$child"
  done
}

kill_all() {
  [ $# -eq 0 ] || kill -9 "$@" 2>/dev/null
}

end_group() {
  if [ -e "$1/cgroup.kill" ]; then
    echo 1 >"$1/cgroup.kill"
  elif [ -e "$1/freezer.state" ]; then
    # A frozen group starts nothing while signals are sent. Its processes end once it is thawed.
    echo FROZEN >"$1/freezer.state"
    kill_all $(cat "$1/cgroup.procs")
    echo THAWED >"$1/freezer.state"
  fi
} 2>/dev/null

end_instance() {
  echo "the server was gone for $patience s" >"$1/reason"
  tries=0
  while [ ! -e "$1/exit" ] && [ "$tries" -lt 50 ]; do
    tries=$((tries + 1))
    while read -r group; do end_group "$group"; done <"$1/cgroups"
    read -r launcher <"$1/identity"
    kill_all $(below "${launcher%% *}")
    sleep 0.1
  done
  # On a busy machine the launcher may have been killed before it could record the exit.
  [ -e "$1/exit" ] || [ -d "/proc/${launcher%% *}" ] || echo 137 >"$1/exit"
  while read -r group; do rmdir "$group"; done <"$1/cgroups" 2>/dev/null
}

# Ends every group in these folders, whether or not an instance's folder names it.
end_groups() {
  for base in "$@"; do
    for group in "$base"/*/; do
      tries=0
      while [ -n "$(cat "$group/cgroup.procs" 2>/dev/null)" ] && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1))
        end_group "$group"
        sleep 0.1
      done
    done
  done
}

waited=0
while sleep "$step"; do
  # Somebody removed the folder and all records in it. Nothing may go on without a record.
  if [ ! -d "$folder" ]; then
    end_groups "$@"
    break
  fi
  if server_lives; then
    waited=0
    continue
  fi
  waited=$((waited + step))
  [ -n "$(running worker)$(starting)" ] || break
  [ "$waited" -ge "$patience" ] || continue
  running worker | while read -r instance; do end_instance "${instance%/}"; done
  break
done

# When nothing runs any more, the watchdog removes everything else from the machine too. Its file stays until all is done, so that a server
# that starts now finds the watchdog and ends it first.
if [ -z "$(running)" ] && ! server_lives; then
  for base in "$@"; do rmdir "$base"/*/ "$base"; done
  # Disks that were mounted ahead. Disks of Pods that have ended are among them, and the next start mounts those again.
  umount "$folder"/.disks/.ready-*/
  if [ -n "$bridge" ]; then
    # What joins groups to other machines goes first. Containers may still use the encrypted link and its rules.
    sed -n "s/^ *\(${bridge}o[0-9a-f]*\):.*/\1/p" /proc/self/net/dev | while read -r span; do ip link delete "$span"; done
    grep -q "^ *${bridge}q" /proc/self/net/dev || {
      ip link delete "${bridge}w"
      nft delete table inet "${table}_spans"
    }
    # Reads the kernel's list, since /sys may show the links of another network namespace.
    sed -n "s/^ *\(${bridge}g[0-9]*\):.*/\1/p" /proc/self/net/dev | while read -r group; do
      ip link delete "$group"
      rm -f "/run/millrace-groups/$group"
    done
    ip link delete "$bridge"
    nft delete table inet "$table"
    nft delete table inet "${table}_ports"
    iptables -w -S DOCKER-USER | grep -e " $bridge " -e " ${bridge}g+ " | while read -r add chain rule; do iptables -w -D "$chain" $rule; done
  fi
fi 2>/dev/null
rm -f "$folder/.watchdog"
exit 0
