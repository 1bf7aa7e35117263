#!/bin/sh
# Runs the program of one instance and writes down how it ended. Outlives the server: nothing of it hangs on a pipe to it.
#   launch.sh FOLDER CGROUPS COMMAND...
# FOLDER is the instance's; CGROUPS are folders with a colon between them. Output goes where standard output already points.
set -eu
folder=$1
cgroups=$2
shift 2

# First of all, so that whoever finds the folder finds this process too. Where that cannot be written nothing is started: the next server
# has taken the name, or removed the folder.
read -r stat <"/proc/$$/stat"
echo "$stat" >"$folder/identity"

# The program alone writes to the output: this shell would report how it ended there.
exec 6>&2 2>/dev/null
(
  exec 2>&6 6>&-
  IFS=:
  for cgroup in $cgroups; do echo 0 >"$cgroup/cgroup.procs" || exit 125; done
  unset IFS
  ulimit -c 0
  umask 022
  # When the whole machine runs out of memory, programs go before the server.
  echo 500 >/proc/self/oom_score_adj 2>/dev/null || true
  exec "$@"
) && status=0 || status=$?

# One small write: a reader that finds a line end has found all of it.
echo "$status" >"$folder/exit"
