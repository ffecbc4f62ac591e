package java.lang;

import jdk.internal.misc.Unsafe;

/** Per-thread facts, in arrays indexed by thread number so that woven code is not re-entered. */
final class UntetherThreads {
    private static final Unsafe U = Untether.U;
    private static final int SLOTS = 1 << 12;
    private static final long TID = U.objectFieldOffset(Thread.class, "tid");

    private static final long[] stackOwner = new long[SLOTS];
    private static final long[] stackLow = new long[SLOTS];
    private static final long[] stackHigh = new long[SLOTS];

    private UntetherThreads() {}

    static long numberOf(Thread thread) {
        return U.getLong(thread, TID);
    }

    /** Whether the address lies in the calling thread's own stack, which cannot vanish meanwhile. */
    static boolean isOnOwnStack(long address) {
        long number = numberOf(Thread.currentThread());
        int slot = (int) number & (SLOTS - 1);
        if (stackOwner[slot] != number) {
            long[] bounds = new long[2];
            UntetherNative.stackBounds(bounds);
            stackOwner[slot] = -1;
            stackLow[slot] = bounds[0];
            stackHigh[slot] = bounds[1];
            stackOwner[slot] = number;
        }
        return address >= stackLow[slot] && address < stackHigh[slot];
    }
}
