# SPDX-License-Identifier: MIT
# package: python3-numpy
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/numpy
# records: python3
/usr/bin/python3 - <<'END'
import numpy as np
r = np.random.default_rng(1)
a = r.standard_normal((400, 400))
u, s, v = np.linalg.svd(a)
print(np.allclose((u * s) @ v, a), round(float(s.sum()), 6), np.fft.fft(a[0])[3].round(9))
print(np.sort(r.integers(0, 1 << 40, 200000))[::50000], np.einsum("ij,kj->ik", a, a).trace().round(6))
np.save("a.npy", a)
print(np.array_equal(np.load("a.npy", mmap_mode="r"), a))
END
