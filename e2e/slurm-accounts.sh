# slurm.sh where Slurm follows processes by control groups and keeps accounts with limits.
export SLURM_TRACK=cgroup SLURM_DBD=1
. "$TOP/e2e/slurm.sh"
