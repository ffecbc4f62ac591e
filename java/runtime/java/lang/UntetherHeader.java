package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Reads identity hashes from object headers, and checks at start that they stand where we think.
 *
 * <p>A locked object may keep its header elsewhere: in the owner's stack or in a monitor. Where the
 * check does not confirm the shortcut, the VM is asked, which is slower and always right.
 */
final class UntetherHeader {
    private static final Unsafe U = Untether.U;
    private static final int SHIFT = Untether.HASH_SHIFT;

    /** Fast-locked objects keep their header bits (lightweight locking). */
    private static boolean isLockedInPlace;

    /** A stack-locked object's header word points to the saved one. */
    private static boolean isDisplaced;

    /** A monitor begins with the saved header word. */
    private static boolean isMonitorFirst;

    private UntetherHeader() {}

    /** Whether hashes are found where expected; without that nothing can be tracked. */
    static boolean check() {
        Object probe = new Object();
        if ((U.getLong(probe, 0L) & Untether.HEADER_MASK) != Untether.UNTOUCHED) {
            return false;
        }
        int hash = System.identityHashCode(probe);
        if (hashOf(U.getLong(probe, 0L)) != hash) {
            return false;
        }
        synchronized (probe) {
            long header = U.getLong(probe, 0L);
            if ((header & 3) == 0) {
                isLockedInPlace = hashOf(header) == hash;
                isDisplaced = !isLockedInPlace && hashOf(U.getLong(header)) == hash;
            }
        }
        return true;
    }

    private static int hashOf(long header) {
        return (int) (header >>> SHIFT) & 0x7fffffff;
    }

    /** The identity hash if the object has one, 0 if surely not; may assign one to a locked object. */
    static int existingHash(Object object) {
        long header = U.getLong(object, 0L);
        int lock = (int) header & 7;
        if (lock == 1) {
            return hashOf(header);
        }
        if ((lock & 3) == 0) {
            if (isLockedInPlace) {
                return hashOf(header);
            }
            if (isDisplaced && UntetherThreads.isOnOwnStack(header)) {
                return hashOf(U.getLong(header));
            }
        }
        return System.identityHashCode(object);
    }
}
