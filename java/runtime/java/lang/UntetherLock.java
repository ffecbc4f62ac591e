package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Guards the runtime's own state, and keeps the runtime from watching itself.
 *
 * <p>A spin lock: whoever holds it touches only memory, and never waits. Work that calls out of the
 * runtime (class loading, test frameworks) is done without it, with the thread suspended instead.
 *
 * <p>Methods that hold it are marked {@code ReservedStackAccess}: a program that runs out of stack inside one
 * gets its error when the method is done, and not in the middle.
 */
final class UntetherLock {
    private static final Unsafe U = Untether.U;
    private static final long HELD = U.objectFieldOffset(UntetherLock.class, "held");

    private static int held;
    private static Thread owner;
    private static Thread[] suspended = new Thread[16];
    private static int suspendedCount;

    private UntetherLock() {}

    /** False where the calling thread is already inside the runtime: then there is nothing to do. */
    static boolean enter() {
        Thread thread = Thread.currentThread();
        if (owner == thread || isSuspended(thread)) {
            return false;
        }
        acquire();
        owner = thread;
        return true;
    }

    /** Like {@link #enter}, but also on a suspended thread: for what must not be missed. */
    static boolean enterForced() {
        if (owner == Thread.currentThread()) {
            return false;
        }
        enterSuspended();
        return true;
    }

    /** For the runtime's own work on a thread that is suspended. */
    static void enterSuspended() {
        acquire();
        owner = Thread.currentThread();
    }

    /** Whether the calling thread does the runtime's own work. */
    static boolean isInside() {
        Thread thread = Thread.currentThread();
        return owner == thread || isSuspended(thread);
    }

    static void exit() {
        owner = null;
        release();
    }

    /** Stops watching the calling thread. False where it is not being watched already. */
    @ReservedStackAccess
    static boolean suspend() {
        Thread thread = Thread.currentThread();
        if (owner == thread || isSuspended(thread)) {
            return false;
        }
        acquire();
        try {
            int place = 0;
            while (place < suspended.length && suspended[place] != null) {
                place++;
            }
            if (place == suspended.length) {
                // Many threads may end at once.
                Thread[] larger = new Thread[place * 2];
                System.arraycopy(suspended, 0, larger, 0, place);
                suspended = larger;
            }
            suspended[place] = thread;
            suspendedCount++;
            return true;
        } catch (OutOfMemoryError full) {
            UntetherFaults.caught(full);
            return false;
        } finally {
            release();
        }
    }

    @ReservedStackAccess
    static void resume() {
        Thread thread = Thread.currentThread();
        acquire();
        for (int i = 0; i < suspended.length; i++) {
            if (suspended[i] == thread) {
                suspended[i] = null;
                suspendedCount--;
            }
        }
        release();
    }

    private static boolean isSuspended(Thread thread) {
        if (suspendedCount != 0) {
            for (Thread candidate : suspended) {
                if (candidate == thread) {
                    return true;
                }
            }
        }
        return false;
    }

    private static void acquire() {
        int spins = 0;
        while (!U.compareAndSetInt(UntetherLock.class, HELD, 0, 1)) {
            if (++spins < 200) {
                Thread.onSpinWait();
            } else {
                // Not Thread.yield: that of a virtual thread runs woven code.
                UntetherNative.yieldProcessor();
            }
        }
    }

    private static void release() {
        U.putIntRelease(UntetherLock.class, HELD, 0);
    }
}
