sinfo -h -N -O 'Partition:64,NodeList:64,StateCompact:24,CPUsState:32,Memory:24,AllocMem:24,Gres:256,GresUsed:256,Available:16,Time:24' || exit 1
