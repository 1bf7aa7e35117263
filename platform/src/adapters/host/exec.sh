#!/bin/sh
# Runs one more program inside an instance, and hangs it up when its caller is gone.
#   exec.sh FOLDER LAUNCHER CGROUPS STEPS COMMAND...
# FOLDER is the instance's folder. LAUNCHER is the number of the process that runs the instance's own program. CGROUPS are folders,
# separated by colons. The program is STEPS processes below COMMAND. Descriptor 6 is a pipe that nobody writes to: the server closes it when
# the caller goes away, and the kernel closes it when the server dies.
set -u
folder=$1 launcher=$2 cgroups=$3 steps=$4
shift 4

IFS=:
for cgroup in $cgroups; do
  # See `launch.sh`.
  if [ -e "$cgroup/tasks" ]; then file=tasks; else file=cgroup.procs; fi
  echo 0 >"$cgroup/$file" || exit 125
done
unset IFS
# The end of an instance is recorded first, and then everything in its groups is killed. So this process either sees the record or is
# killed.
[ ! -e "$folder/exit" ] && [ -d "/proc/$launcher" ] || exit 137
# The same limits as in `launch.sh`.
ulimit -c 0
ulimit -S -n 65536 2>/dev/null || true
umask 022
echo 500 >/proc/self/oom_score_adj 2>/dev/null || true

# The first or second child of a process.
child_of() {
  set -- "$2" $(cat "/proc/$1/task/$1/children")
  shift "$1"
  echo "${1:-}"
}

# The program, or the process that is about to become it. The first child of this shell waits for the caller to go; the second runs the
# command.
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

# Only the program writes to standard error. This shell would report the program's end there.
exec 7>&2 2>/dev/null
# The waiting process runs in the background, not the program: a shell makes background processes ignore the interrupt keys.
hang_up </dev/null >/dev/null 3<&- 4<&- 5<&- 7>&- &
waiting=$!
(
  exec 2>&7 6<&- 7>&-
  exec "$@"
)
status=$?
kill "$waiting"
exit "$status"
