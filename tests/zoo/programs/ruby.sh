# SPDX-License-Identifier: MIT
# package: ruby
# needs: ruby
# records: ruby
ruby -e '
require "json"; require "digest"; require "tempfile"
puts (1..4).map { |n| Thread.new { (1..100000 * n).sum { |x| x % 7 } } }.map(&:value).inspect
puts Digest::SHA256.hexdigest(JSON.dump((1..50000).map { |i| { i => i.to_s } }))
puts (1..3).map { |n| Ractor.new(n) { |m| m * 2 } }.map(&:take).inspect rescue puts "no ractors"
pid = fork { exit! 3 }; Process.wait pid; puts $?.exitstatus
puts `echo sub`; system("sh", "-c", "exit 2"); puts $?.exitstatus
GC.start; GC.compact rescue nil; a = Array.new(200000) { |i| "s#{i}" }; a = nil; GC.start
Signal.trap("TERM") { puts "term"; exit 5 }; Process.kill("TERM", $$); sleep 5' 2>/dev/null || echo "status $?"
