# QUEUE: 1 = also how many jobs wait
sinfo -h -N -O 'Partition:64,NodeList:64,StateCompact:24,CPUsState:32,Memory:24,AllocMem:24,Gres:256,GresUsed:256,Available:16,Time:24' || exit 1
[ "$1" = 0 ] || squeue -h -t PD -o 'pending|%P' 2>/dev/null | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2|\1/'
