# SPDX-License-Identifier: MIT
# package: busybox-static
# needs: busybox
# records: bash
seq 1000 | busybox awk '{s += $1} END {print s}'
busybox sh -c 'for i in 1 2 3; do echo $i; done | busybox sort -r; busybox tar cf a.tar /etc/passwd 2>/dev/null; exit 4' || echo "status $?"
busybox sha256sum /etc/passwd; busybox ls a.tar
