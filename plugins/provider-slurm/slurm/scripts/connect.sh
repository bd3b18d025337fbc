# JOB KEY PROGRAM
overlap=
case $(srun --help 2>/dev/null) in *--overlap*) overlap=--overlap ;; esac
exec srun --quiet --jobid="$1" $overlap --unbuffered --nodes=1 --ntasks=1 --mem=0 --gres=none --mpi=none --chdir=/ "$3" job connect "$root/$2"
