# SPDX-License-Identifier: MIT
# package: tmux
# needs: tmux
# records: tmux
export TERM=xterm
tmux -f /dev/null -S "$PWD/s" new-session -d -x 80 -y 10 'echo in tmux; exec cat'
for _ in $(seq 50); do tmux -S "$PWD/s" capture-pane -p | grep -q 'in tmux' && break; sleep 0.1; done
tmux -S "$PWD/s" capture-pane -p | head -n 1
tmux -S "$PWD/s" kill-server
while [ -S s ] && tmux -S "$PWD/s" ls >/dev/null 2>&1; do sleep 0.1; done
rm -f s
