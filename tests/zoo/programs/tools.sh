# SPDX-License-Identifier: MIT
# package: openssl xz-utils zstd
# needs: openssl xz zstd
# records: openssl xz zstd
seq 300000 >a
xz -T2 -k a && xz -t a.xz && xz -dc a.xz | sha256sum
zstd -q -T2 a && zstd -dqc a.zst | sha256sum
openssl genrsa -out k 2048 2>/dev/null && openssl dgst -sha256 -sign k -out sig a && openssl rsa -in k -pubout -out pub 2>/dev/null
openssl dgst -sha256 -verify pub -signature sig a
openssl enc -aes-256-cbc -pbkdf2 -k secret -in a | openssl enc -d -aes-256-cbc -pbkdf2 -k secret | sha256sum
tar c a | gzip -n | tar tz; find . -name 'a*' | sort | xargs -n 1 -P 3 basename | sort; sort -R --parallel=2 a | sort -n | sha256sum
