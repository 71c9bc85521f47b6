# SPDX-License-Identifier: MIT
# Another collector is left alone.
export INTEL_LIBITTNOTIFY64=/opt/intel/libittnotify_collector.so
agent /bin/true 2>&1
agent sh -c 'echo $INTEL_LIBITTNOTIFY64' 2>/dev/null
