#!/bin/sh
# array.sh - a list of problems, or the random checks, on a Slurm cluster: a job
# for each shard, their tables merged. Run again after jobs were killed it goes on
# where they were.
set -eu

usage() {
    cat <<'END'
usage: array.sh SHARDS TABLE.csv bench|tune LIST [flags of kilnc]
       array.sh SHARDS LIB.kpk pack LIST [flags of kilnc]
       array.sh SHARDS FOUND.txt soak FIRST COUNT

KILNC is the program (default: kilnc), SBATCH the command that submits with
what the cluster asks for (default: sbatch), SOAK the random checks
(tests/num/soak.py). Shards are kept in TABLE.csv.parts, a folder that every node
must see, as the list and kiln's cache.
END
}

do_part() {                   # of the list, into a file
    case $1 in
    soak) shift; python3 "$soak" "$kilnc" "$@" ;;
    *) "$kilnc" "$@" ;;
    esac
}

merge() {                     # a bundle is made again, of kernels from the cache
    case $1 in
    soak) python3 "$soak" merge $(seq -f "$table.parts/%g.csv" "$shards") >"$table" ;;
    pack) "$kilnc" "$@" -o "$table" ;;
    *) "$kilnc" merge $(seq -f "$table.parts/%g.csv" "$shards") -o "$table" ;;
    esac
}

shard() {                     # one job: its part of the list
    part=$table.parts/$SLURM_ARRAY_TASK_ID
    status=0
    do_part "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards" -o "$part.csv" ||
        status=$?
    # 1 is a table with a finding; 2 and more are none
    [ "$status" -gt 1 ] || echo "$status" >"$part.done"
    exit "$status"
}

[ $# -ge 4 ] || { usage >&2; exit 2; }
kilnc=${KILNC:-kilnc} soak=${SOAK:-tests/num/soak.py}
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
ended=$(find "$table.parts" -name '*.done' | wc -l)
[ "$ended" -eq "$shards" ] || {
    echo "array.sh: not all of $shards shards ended: see $table.parts/*.log," \
        "and run the same line again" >&2
    exit 1
}
merge "$@"
! grep -qv '^0$' "$table.parts"/*.done
