# Starts Slurm inside a member of a cluster: the controller on rank 0, and the daemon that runs jobs on all. Daemons that already run are
# left alone. Members trust each other by a key that rank 0 makes. The others get its host name and then the key on their input.
# MEMBER_ADDRS lists the addresses by rank.
runs() {
  for name in /proc/[0-9]*/comm; do [ "$(cat "$name" 2>/dev/null)" = "$1" ] && return 0; done
  return 1
}

for program in munged slurmd $([ "$NODE_RANK" = 0 ] && echo slurmctld); do
  command -v "$program" >/dev/null 2>&1 || {
    echo "Slurm is not in this image ($program is missing): its program starts without it"
    exit 0
  }
done
set -eu
umask 077
key=/etc/munge/millrace.key
mkdir -p /etc/munge /run/munge /var/log/munge /var/lib/munge /etc/slurm /var/spool/slurmd /var/spool/slurmctld
chmod 755 /run/munge /etc/slurm
if [ "$NODE_RANK" = 0 ]; then
  controller=$(hostname)
  [ -s "$key" ] || {
    head -c 1024 /dev/urandom >"$key.new"
    mv "$key.new" "$key"
  }
else
  # The controller may start later, so this asks to be run again.
  read -r controller || exit 75
  base64 -d >"$key.new"
  mv "$key.new" "$key"
fi
# munged must own its files, and the image may have given them to a user of its own.
chown -R "$(id -u):$(id -g)" /etc/munge /run/munge /var/log/munge /var/lib/munge
runs munged || munged --force --key-file="$key"

# What jobs may ask for: the member's share, since the machine shows more than that, but never more than the machine has, since Slurm takes
# no jobs on such a node.
smaller() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }
read -r _ total _ </proc/meminfo
cpus=$(smaller "${MILLRACE_CPU_COUNT%%.*}" "$(nproc)")
memory=$(smaller "$((MILLRACE_MEM_GB * 1024))" "$((total / 1024))")

conf=/etc/slurm/slurm.conf
{
  echo "ClusterName=millrace"
  echo "SlurmctldHost=$controller($PRIMARY_ADDR)"
  echo "SlurmUser=$(id -un)"
  echo "SlurmdUser=$(id -un)"
  echo "AuthType=auth/munge"
  echo "ProctrackType=proctrack/pgid"
  echo "TaskPlugin=task/none"
  echo "MpiDefault=none"
  echo "ReturnToService=2"
  echo "StateSaveLocation=/var/spool/slurmctld"
  echo "SlurmdSpoolDir=/var/spool/slurmd"
  echo "SlurmctldPidFile=/run/slurmctld.pid"
  echo "SlurmdPidFile=/run/slurmd.pid"
  echo "SlurmctldLogFile=/var/log/slurmctld.log"
  echo "SlurmdLogFile=/var/log/slurmd.log"
  echo "SelectType=select/cons_tres"
  echo "SelectTypeParameters=CR_Core"
  [ -e /dev/nvidia0 ] && echo "GresTypes=gpu"
  rank=0
  for address in $MEMBER_ADDRS; do
    echo "NodeName=node-$rank NodeAddr=$address CPUs=$cpus RealMemory=$memory$([ -e /dev/nvidia0 ] && echo " Gres=gpu:$NUM_TRAINERS") State=UNKNOWN"
    rank=$((rank + 1))
  done
  echo "PartitionName=all Nodes=node-[0-$((NUM_NODES - 1))] Default=YES MaxTime=INFINITE State=UP"
} >"$conf.new"
[ -e /dev/nvidia0 ] && ls /dev/nvidia[0-9]* | sed 's/^/Name=gpu File=/' >/etc/slurm/gres.conf
mv "$conf.new" "$conf"
chmod 644 "$conf"

# Starts a daemon in the background, and reports it if the daemon ends at once.
start() {
  runs "$1" && return
  "$@"
  sleep 1
  runs "$1" || {
    tail -n 3 "/var/log/$1.log"
    exit 1
  }
}

[ "$NODE_RANK" = 0 ] && start slurmctld
start slurmd -N "node-$NODE_RANK"
echo "node-$NODE_RANK is there for jobs of Slurm"
