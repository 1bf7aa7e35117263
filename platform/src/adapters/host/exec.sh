#!/bin/sh
# Runs one more program inside an instance, and hangs it up when its caller is gone.
#   exec.sh FOLDER LAUNCHER CGROUPS STEPS COMMAND...
# FOLDER is the instance's, LAUNCHER the number of the process that runs its own program, CGROUPS are folders with a colon between them. The
# program is STEPS processes below COMMAND. Descriptor 6 is a pipe that nobody writes to: the server closes it when the caller goes away, and
# the kernel when the server dies.
set -u
folder=$1 launcher=$2 cgroups=$3 steps=$4
shift 4

IFS=:
for cgroup in $cgroups; do echo 0 >"$cgroup/cgroup.procs" || exit 125; done
unset IFS
# Who ends an instance ends what is in its groups after that has been written: this came too late to be seen, or is ended with the rest.
[ ! -e "$folder/exit" ] && [ -d "/proc/$launcher" ] || exit 137
# As in `launch.sh`.
ulimit -c 0
ulimit -S -n 65536 2>/dev/null || true
umask 022
echo 500 >/proc/self/oom_score_adj 2>/dev/null || true

# The first child of a process, or the second.
child_of() {
  set -- "$2" $(cat "/proc/$1/task/$1/children")
  shift "$1"
  echo "${1:-}"
}

# The program, or what is about to become it. Of the children of this shell the first is who waits for the caller to go.
program() {
  next=$(child_of "$$" 2)
  for step in - $(seq "$steps"); do
    [ -n "$next" ] || break
    at=$next
    next=$(child_of "$at" 1)
  done
  echo "$at"
}

hang_up() {
  read -r _ <&6
  kill -HUP "$(program)"
  tries=0
  while [ "$tries" -lt 20 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  kill -KILL "$(program)"
}

# The program alone writes there: this shell would tell of its end.
exec 7>&2 2>/dev/null
# Beside it, not the program: a shell makes what it runs in the background deaf to the keys that interrupt.
hang_up </dev/null >/dev/null 3<&- 4<&- 5<&- 7>&- &
waiting=$!
(
  exec 2>&7 6<&- 7>&-
  exec "$@"
)
status=$?
kill "$waiting"
exit "$status"
