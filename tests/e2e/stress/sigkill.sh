# SPDX-License-Identifier: MIT
# Killed at a random moment, with and without waiting: blocks and rings together have every call
# once, in order.
"$PYTHON" "$HERE/sigkill.py"
