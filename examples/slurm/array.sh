#!/bin/sh
# array.sh - a list of problems on a Slurm cluster: a job for each shard, their
# tables merged. Run again after jobs were killed it goes on where they were.
set -eu

usage() {
    cat <<'END'
usage: array.sh SHARDS TABLE.csv bench|tune LIST [flags of kilnc]

KILNC is the program (default: kilnc), SBATCH the command that submits with
what the cluster asks for (default: sbatch). Shards are kept in TABLE.csv.parts,
a folder that every node must see, as the list and kiln's cache.
END
}

shard() {                     # one job: its part of the list
    part=$table.parts/$SLURM_ARRAY_TASK_ID
    status=0
    "$kilnc" "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards" -o "$part.csv" ||
        status=$?
    # 1 is a table with a finding; 2 and more are none
    [ "$status" -gt 1 ] || echo "$status" >"$part.done"
    exit "$status"
}

[ $# -ge 4 ] || { usage >&2; exit 2; }
kilnc=${KILNC:-kilnc}
shards=$1 table=$2
shift 2
[ -z "${SLURM_ARRAY_TASK_ID:-}" ] || shard "$@"

mkdir -p "$table.parts"
left=
for i in $(seq "$shards"); do
    [ -e "$table.parts/$i.done" ] || left=$left${left:+,}$i
done
[ -z "$left" ] || ${SBATCH:-sbatch} --wait --requeue --open-mode=append \
    --array="$left" --output="$table.parts/%a.log" "$0" "$shards" "$table" \
    "$@" || true
set -- "$table.parts"/*.done
[ -e "$1" ] && [ $# -eq "$shards" ] || {
    echo "array.sh: not all of $shards shards ended: see $table.parts/*.log," \
        "and run the same line again" >&2
    exit 1
}
"$kilnc" merge $(seq -f "$table.parts/%g.csv" "$shards") -o "$table"
! grep -qv '^0$' "$table.parts"/*.done
