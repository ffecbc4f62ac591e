package java.lang;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Accesses to primitive arrays of more than a few elements: buffers, mostly, which pools keep from test to test and which
 * are filled and read from one end to the other. They are kept by chunks of 64 cells ({@link UntetherChunk}), so that
 * the next element of a sequential access costs a look at the chunk that was met last.
 */
final class UntetherBuffers {
    /** Arrays up to this length are kept by element. */
    private static final int SHORTEST = 64;

    static final int CELL_BITS = 6;

    /** The key under which arrays that are not shared, but were hashed by the program, are remembered. */
    private static final int STRANGER = 0;

    private static final int RECENT_BITS = 14;
    private static final UntetherChunk[] recent = new UntetherChunk[1 << RECENT_BITS];

    private UntetherBuffers() {}

    static boolean isBuffer(Object array) {
        return !(array instanceof Object[]) && UntetherArrays.length(array) > SHORTEST;
    }

    /** Elements from one to before another are read or written; not {@code isSure} where only some of them may be. */
    @Hidden
    @DontInline
    static void access(Object array, int hash, int from, int to, boolean isWrite, boolean isSure) {
        int epoch = Untether.epoch;
        int shift = UntetherShadow.chunkShift(array);
        int last = (to - 1) >>> shift;
        for (int number = from >>> shift; number <= last; number++) {
            UntetherChunk chunk = recent[place(hash, number)];
            if (chunk == null || chunk.place != number || chunk.owner.get() != array
                    || !chunk.isKnown(isSure ? cells(array, shift, number, from, to, isWrite) : 0, epoch, isWrite)) {
                if (!UntetherShadow.isCached(hash, STRANGER, epoch, false)) {
                    slow(array, hash, number, from, to, isWrite, isSure);
                }
                return;
            }
        }
    }

    @ReservedStackAccess
    private static void slow(
            Object array, int hash, int first, int from, int to, boolean isWrite, boolean isSure) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject shared = UntetherShadow.find(array, hash);
            if (shared == null) {
                UntetherShadow.remember(null, hash, STRANGER, false);
                return;
            }
            int shift = UntetherShadow.chunkShift(array);
            int last = (to - 1) >>> shift;
            for (int number = first; number <= last; number++) {
                UntetherChunk chunk = (UntetherChunk) shared.slot(number, shared.layout.elementType);
                recent[place(hash, number)] = chunk;
                long cells = isSure ? cells(array, shift, number, from, to, isWrite) : 0;
                if (isWrite) {
                    UntetherActors.write(chunk, cells);
                } else {
                    UntetherActors.read(chunk, cells);
                }
                remember(chunk, isWrite);
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    private static void remember(UntetherChunk chunk, boolean isWrite) {
        if (!UntetherActors.ownsEpoch()) {
            return;
        }
        if (!isWrite) {
            chunk.readEpoch = Untether.epoch;
        } else if (!UntetherActors.isThorough) {
            chunk.writeEpoch = Untether.epoch;
        }
    }

    /** The chunk's cells between two elements: for reads those that are touched, for writes those that are so as a whole. */
    private static long cells(Object array, int shift, int number, int from, int to, boolean isWrite) {
        int cellShift = shift - CELL_BITS;
        int start = number << shift;
        int first = Math.max(from - start, 0);
        int end = Math.min(to - start, 1 << shift);
        int firstCell = first >> cellShift;
        int lastCell = (end - 1) >> cellShift;
        if (isWrite && cellShift != 0) {
            firstCell = (first + (1 << cellShift) - 1) >> cellShift;
            lastCell = to == UntetherArrays.length(array) ? lastCell : (end >> cellShift) - 1;
            if (lastCell < firstCell) {
                return 0;
            }
        }
        return (-1L << firstCell) & (-1L >>> 63 - lastCell);
    }

    private static int place(int hash, int number) {
        int mixed = hash * 0x9E3779B1 + number;
        return (mixed ^ mixed >>> RECENT_BITS) & ((1 << RECENT_BITS) - 1);
    }
}
