#!/usr/bin/env bash
# Runs the recipes of Docs/Sweeps.md for GNU parallel and Kubernetes as they stand there, scaled down, and
# checks that their merged results equal those of one process. Of Kubernetes only the shape of the job and
# the container's command are tested, with the index set by hand. Installs Debian's parallel where it may.
# Usage: Tools/sweeps/recipes-test.sh [EXPERIMENT.json] [SHARDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
document=$PWD/Docs/Sweeps.md
experiment=$(realpath "${1:-Examples/experiments/moves.json}")
shards=${2:-4}
troika=${TROIKA:-$PWD/.build/release/troika}
[ -x "$troika" ] || swift build -c release --product troika

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$troika" "$work/bin/troika"
export PATH=$work/bin:$PATH
# The folder of models and profiles that an experiment names stays beside it.
troika place run "$experiment" --out "$work/whole.jsonl" >/dev/null
troika place merge "$work/whole.jsonl" --out "$work/unsharded.jsonl" >/dev/null

compare() {
  troika place merge "$work/$1"/parts/*.jsonl --out "$work/$1.jsonl" >/dev/null
  cmp "$work/$1.jsonl" "$work/unsharded.jsonl"
  echo "recipes-test: $2: the merged results of $shards shards equal those of one process"
}

if ! command -v parallel >/dev/null && [ "$(id -u)" = 0 ]; then
  apt-get install -y -qq --no-install-recommends parallel >/dev/null 2>&1 || true
fi
if command -v parallel >/dev/null; then
  mkdir -p "$work/parallel/parts"
  recipe=$(sed -n '/^parallel /p' "$document")
  [ -n "$recipe" ] || { echo "recipes-test: Docs/Sweeps.md has no recipe for parallel" >&2; exit 1; }
  recipe=${recipe/experiment.json/"$experiment"}
  recipe=${recipe//64/"$shards"}
  (cd "$work/parallel" && eval "${recipe/--jobs 8/--jobs 2}" >/dev/null)
  compare parallel "GNU parallel"
else
  echo "recipes-test: GNU parallel: did not run: it is not installed and cannot be"
fi

if python3 -c 'import yaml' 2>/dev/null; then
  mkdir -p "$work/kubernetes/parts"
  python3 - "$document" "$work/job.sh" <<'PYTHON'
import re, sys, yaml
job = yaml.safe_load(re.search(r"```yaml\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1))
assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job") and job["metadata"]["name"]
spec = job["spec"]
assert set(spec) <= {"completions", "parallelism", "completionMode", "backoffLimitPerIndex", "template"}
assert spec["completionMode"] == "Indexed" and 0 < spec["parallelism"] <= spec["completions"]
pod = spec["template"]["spec"]
# A limit of retries for each index needs this policy.
assert pod["restartPolicy"] == "Never" and spec["backoffLimitPerIndex"] > 0
container, = pod["containers"]
assert container["name"] and container["image"] and container["command"] == ["/bin/sh", "-c"]
line, = container["args"]
assert f"/{spec['completions']}\"" in line
volumes = {volume["name"] for volume in pod["volumes"]}
assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
mount, = container["volumeMounts"]
assert mount["mountPath"] + "/" in line
open(sys.argv[2], "w").write(line)
PYTHON
  line=$(cat "$work/job.sh")
  line=${line//64/"$shards"}
  line=${line//"/sweep/experiment.json"/"$experiment"}
  line=${line//"/sweep/parts"/"$work/kubernetes/parts"}
  for index in $(seq 0 $((shards - 1))); do
    JOB_COMPLETION_INDEX=$index /bin/sh -c "$line" >/dev/null
  done
  compare kubernetes "the Kubernetes job's command"
else
  echo "recipes-test: Kubernetes: did not run: Python has no yaml (python3-yaml)"
fi
