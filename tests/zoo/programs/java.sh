# SPDX-License-Identifier: MIT
# package: default-jdk-headless
# needs: java javac
# records: java javac
cat >Work.java <<'END'
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Work {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> parts = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            final int n = i;
            parts.add(pool.submit(() -> LongStream.range(0, 100000L * n).filter(x -> x % 3 == 0).sum()));
        }
        long sum = 0;
        for (Future<Long> part : parts) sum += part.get();
        pool.shutdown();
        System.out.println(sum);
        Map<String, byte[]> garbage = new ConcurrentHashMap<>();
        for (int i = 0; i < 200000; i++) garbage.put("" + i % 1000, new byte[1024]);
        System.out.println(garbage.size());
        java.nio.ByteBuffer direct = java.nio.ByteBuffer.allocateDirect(1 << 20);
        System.out.println(direct.capacity());
        Process p = new ProcessBuilder("sh", "-c", "echo child; exit 6").inheritIO().start();
        System.out.println(p.waitFor());
        try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
        try { deep(0); } catch (StackOverflowError e) { System.out.println("deep"); }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        System.exit(3);
    }
    static int deep(int n) { return deep(n + 1) + 1; }
}
END
javac Work.java && java -Xmx256m Work || echo "status $?"
