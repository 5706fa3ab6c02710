#!/usr/bin/env bash
# Runs a sweep as a Slurm job array on a cluster of this one machine and checks that its merged results
# equal those of one process. Installs Debian's slurm-wlm and munge where they are missing and it may.
# Usage: Tools/sweeps/slurm-test.sh [EXPERIMENT.json] [SHARDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
experiment=$(realpath "${1:-Examples/experiments/moves.json}")
shards=${2:-4}
troika=${TROIKA:-$PWD/.build/release/troika}

if ! command -v sbatch slurmctld slurmd munged >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! apt-get install -y -qq --no-install-recommends slurm-wlm munge \
    >/dev/null 2>&1; then
    echo "slurm-test: did not run: slurm-wlm and munge are not installed and cannot be" >&2
    exit 0
  fi
fi
[ "$(id -u)" = 0 ] || { echo "slurm-test: did not run: needs root for its own daemons" >&2; exit 0; }
[ -x "$troika" ] || swift build -c release --product troika

work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

host=$(hostname -s)
mkdir -p "$work"/{state,spool,munge}
chmod 755 "$work"
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
chmod 400 "$work/munge/key"
cat >"$work/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf

munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" \
  >"$work/munge/output" 2>&1 &
pids+=($!)
until [ -S "$work/munge/socket" ]; do sleep 0.1; done
slurmctld -D >"$work/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -N "$host" >"$work/slurmd.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
  [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
  sleep 0.2
done
sinfo -h -o "slurm-test: %D node %T" || { tail -n 5 "$work"/slurm*.log >&2; exit 1; }

cat >"$work/job.sh" <<JOB
#!/bin/sh
exec "$troika" place run "$experiment" \\
  --shard "\$SLURM_ARRAY_TASK_ID/\$SLURM_ARRAY_TASK_COUNT" \\
  --out "$work/part-\$SLURM_ARRAY_TASK_ID.jsonl"
JOB
sbatch --wait --array="1-$shards" --output="$work/job-%a.log" "$work/job.sh" || {
  cat "$work"/job-*.log >&2
  tail -n 5 "$work"/slurm*.log >&2
  exit 1
}
cat "$work"/job-*.log

"$troika" place run "$experiment" --out "$work/whole.jsonl"
"$troika" place merge "$work"/part-*.jsonl --out "$work/sharded.jsonl"
"$troika" place merge "$work/whole.jsonl" --out "$work/unsharded.jsonl"
cmp "$work/sharded.jsonl" "$work/unsharded.jsonl"
echo "slurm-test: the merged results of $shards array tasks equal those of one process"
