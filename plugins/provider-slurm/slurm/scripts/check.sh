sinfo -h -o 'part|%R|%a|%l' || exit 1
command -v sacctmgr >/dev/null 2>&1 || { echo "noacct|there is no sacctmgr"; exit 0; }
assoc=$(sacctmgr -n -P show assoc where user="$me" format=Account,Partition,QOS 2>&1) ||
  { echo "noacct|$(printf '%s\n' "$assoc" | tail -n 1)"; exit 0; }
printf '%s\n' "$assoc" | sed -n 's/^..*$/assoc|&/p'
sacctmgr -n -P show qos format=Name,MaxWall 2>/dev/null | sed 's/^/qos|/'
