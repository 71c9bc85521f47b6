# SPDX-License-Identifier: MIT
# package: perl
# needs: perl
# records: perl
perl -e '
use strict; use threads; my %h; $h{$_ % 977} .= chr(65 + $_ % 26) for 1..300000;
print join(",", map { length $h{$_} } (sort { $a <=> $b } keys %h)[0..9]), "\n";
my @t = map { my $n = $_; threads->create(sub { my $s = 0; $s += $_ for 1..$n * 10000; $s }) } 1..4;
print join(",", map { $_->join } @t), "\n";
my $pid = fork; if (!$pid) { exit 9 } waitpid $pid, 0; print $? >> 8, "\n";
print `echo backtick`; $SIG{USR1} = sub { print "usr1\n" }; kill USR1 => $$; exec "sh", "-c", "exit 7"' || echo "status $?"
