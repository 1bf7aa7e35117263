#!/bin/sh
# Runs the program of one instance and records how it ended. It outlives the server, since no pipe connects the two.
#   launch.sh FOLDER CGROUPS SEGMENT COMMAND...
# FOLDER is the instance's folder. CGROUPS are folders, separated by colons. The program's output goes through a pipe to `keep.sh`, which
# keeps files of SEGMENT bytes. Whatever a program does with its end of the pipe has no effect on the disk.
set -eu
folder=$1
cgroups=$2
segment=$3
shift 3

# This comes first, so that anyone who finds the folder also finds this process. If the write fails, nothing is started: the next server has
# taken the name or removed the folder.
read -r stat <"/proc/$$/stat"
echo "$stat" >"$folder/identity"

# Only the program writes to the pipe. This shell would report the program's end there.
{
  exec 9>&1 >/dev/null
  (
    exec >&9 2>&9 9>&-
    IFS=:
    for cgroup in $cgroups; do
      # Version 1 has this file too, and moving one thread by it takes no lock of the whole machine, which would take milliseconds each time.
      # This shell has one thread.
      if [ -e "$cgroup/tasks" ]; then file=tasks; else file=cgroup.procs; fi
      echo 0 >"$cgroup/$file" || exit 125
    done
    unset IFS
    ulimit -c 0
    # The server has raised its own limit on open files to the maximum. Programs that close every possible descriptor would take minutes
    # with it.
    ulimit -S -n 65536 2>/dev/null || true
    umask 022
    # When the whole machine runs out of memory, the kernel kills programs before the server.
    echo 500 >/proc/self/oom_score_adj 2>/dev/null || true
    exec "$@"
  ) && status=0 || status=$?
  # One small write: a reader that finds a line end has the whole line. It is written before the pipe closes, because processes that the
  # program left behind may hold the pipe open.
  echo "$status" >"$folder/exit"
} 2>/dev/null | exec /bin/sh "${0%launch.sh}keep.sh" "$folder" "$segment" 3<&- 4<&- 6<&- 7<&- 8<&-
