#!/bin/sh
# Runs the program of one instance and writes down how it ended. Outlives the server: nothing of it hangs on a pipe to it.
#   launch.sh FOLDER CGROUPS SEGMENT COMMAND...
# FOLDER is the instance's; CGROUPS are folders with a colon between them. What the program writes goes by a pipe to `keep.sh`, which keeps
# files of SEGMENT bytes: whatever a program does with its end of a pipe, it does nothing to the disk.
set -eu
folder=$1
cgroups=$2
segment=$3
shift 3

# First of all, so that whoever finds the folder finds this process too. Where that cannot be written nothing is started: the next server
# has taken the name, or removed the folder.
read -r stat <"/proc/$$/stat"
echo "$stat" >"$folder/identity"

# The program alone writes to the pipe: this shell would report how it ended there.
{
  exec 9>&1 >/dev/null
  (
    exec >&9 2>&9 9>&-
    IFS=:
    for cgroup in $cgroups; do echo 0 >"$cgroup/cgroup.procs" || exit 125; done
    unset IFS
    ulimit -c 0
    # The server has raised its own limit on open files as far as it goes, and programs that close all they may have would take minutes.
    ulimit -S -n 65536 2>/dev/null || true
    umask 022
    # When the whole machine runs out of memory, programs go before the server.
    echo 500 >/proc/self/oom_score_adj 2>/dev/null || true
    exec "$@"
  ) && status=0 || status=$?
  # One small write: a reader that finds a line end has found all of it. Before the pipe is closed, which processes that the program left
  # behind may hold open.
  echo "$status" >"$folder/exit"
} 2>/dev/null | exec /bin/sh "${0%launch.sh}keep.sh" "$folder" "$segment" 3<&- 4<&- 6<&- 7<&- 8<&-
