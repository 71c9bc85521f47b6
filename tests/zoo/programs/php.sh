# SPDX-License-Identifier: MIT
# package: php-cli
# needs: php
# records: php
php -r '
$a = range(1, 300000); shuffle($a); sort($a); echo $a[0], " ", array_sum($a), "\n";
echo md5(str_repeat("x", 5000000)), "\n"; echo preg_replace("/(\d)(\d)/", "$2$1", "12345678"), "\n";
file_put_contents("f", serialize(array_fill(0, 1000, ["k" => 1]))); echo strlen(file_get_contents("f")), "\n";
echo shell_exec("echo sub"); exit(8);' || echo "status $?"
