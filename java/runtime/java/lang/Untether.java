package java.lang;

import java.lang.reflect.Field;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * The probes that woven code calls: each answers in a load or two that nothing has to be recorded, or
 * hands over to {@link UntetherShadow}.
 *
 * <p>Each is short, those of fields and elements at most 35 bytes, which the compilers inline wherever it pays; what it
 * calls is not inlined, so that woven methods grow little.
 *
 * <p>Woven classes of java.base call this before the VM is initialised, so nothing here may allocate,
 * throw or touch another class until {@link #epoch} leaves 0. The names and descriptors are mirrored in
 * the crate untether-weave, module probe.
 */
public final class Untether {
    static final Unsafe U = Unsafe.getUnsafe();

    /** Memory outside the heap that the agent reserved; see {@link UntetherShadow} for its parts. */
    static final long TABLES = UntetherConstants.tables();

    static final long STATIC_READS = TABLES;
    static final long STATIC_WRITES = TABLES + (4L << 20);
    static final long CONSTANTS = TABLES + (8L << 20);

    /** Where the identity hash stands in an object's header; checked by {@link UntetherHeader}. */
    static final int HASH_SHIFT = UntetherConstants.hashShift();

    /** Hash and lock bits. An unlocked object without a hash, so one we never registered, shows 1. */
    static final long HEADER_MASK = (0x7fffffffL << HASH_SHIFT) | 7L;

    static final long UNTOUCHED = 1L;

    static final int READS = 1;
    static final int WRITES = 2;
    static final int BYTES = 4;

    /** Numbers the stretches of one actor's work; 0 until the first test class starts. */
    static int epoch;

    /** Not 0 while a class initializer runs. */
    static int initializing;

    private Untether() {}

    @Hidden
    public static void fieldRead(Object object, int field) {
        if (object != null && (U.getLong(object, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.fieldAccess(object, field, false);
        }
    }

    @Hidden
    public static void fieldWrite(Object object, int field) {
        if (object != null && (U.getLong(object, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.fieldAccess(object, field, true);
        }
    }

    @Hidden
    public static void arrayRead(Object array, int index) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.elementAccess(array, index, false);
        }
    }

    @Hidden
    public static void arrayWrite(Object array, int index) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.elementAccess(array, index, true);
        }
    }

    @Hidden
    public static void staticRead(int field) {
        if (U.getInt(STATIC_READS + ((long) field << 2)) != epoch) {
            UntetherShadow.staticAccess(field, false);
        }
    }

    @Hidden
    public static void staticWrite(int field) {
        if (U.getInt(STATIC_WRITES + ((long) field << 2)) != epoch) {
            UntetherShadow.staticAccess(field, true);
        }
    }

    /** A static final field: it matters only where its class initializer saw what a test left. */
    @Hidden
    public static void constantRead(int field) {
        if (U.getByte(CONSTANTS + field) != 0) {
            UntetherShadow.constantAccess(field);
        }
    }

    /** A read that only matters if an initializer does it. */
    @Hidden
    public static void initializerFieldRead(Object object, int field) {
        if (initializing != 0 && object != null) {
            UntetherShadow.fieldAccess(object, field, false);
        }
    }

    @Hidden
    public static void initializerArrayRead(Object array, int index) {
        if (initializing != 0 && array != null) {
            UntetherShadow.elementAccess(array, index, false);
        }
    }

    @Hidden
    public static void initializerStaticRead(int field) {
        if (initializing != 0) {
            UntetherShadow.staticAccess(field, false);
        }
    }

    /** {@code mode} says what is done ({@link #READS}, {@link #WRITES}) to how many bytes: times {@link #BYTES}. */
    @Hidden
    public static void unsafeAccess(Object object, long offset, int mode) {
        if (object != null && (U.getLong(object, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.unsafeAccess(object, offset, mode);
        }
    }

    /** The same for as many bytes as a copy is long. */
    @Hidden
    public static void unsafeRange(Object object, long offset, long bytes, int mode) {
        if (object != null && (U.getLong(object, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.unsafeRange(object, offset, bytes, mode);
        }
    }

    /** Every slot of an object or array is read at once: {@code clone}. */
    @Hidden
    public static void readAll(Object object) {
        if (object != null && (U.getLong(object, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.readAll(object);
        }
    }

    /** Every element of an array is written at once: a sort or a copy that the compiler does itself. */
    @Hidden
    public static void writeAll(Object array) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.writeAll(array);
        }
    }

    /** Some elements of an array are read by code that the compiler puts in the place of a method. */
    @Hidden
    public static void rangeRead(Object array, int from, int length) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.rangeAccess(array, from, length, false);
        }
    }

    @Hidden
    public static void rangeWrite(Object array, int from, int length) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.rangeAccess(array, from, length, true);
        }
    }

    /** Before native code that may write so many elements; how many it did is shown by {@link #rangeWrite} afterwards. */
    @Hidden
    public static void rangeFill(Object array, int from, int length) {
        if (array != null && (U.getLong(array, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.rangeFill(array, from, length);
        }
    }

    /** Before {@link System#arraycopy}, with its arguments. */
    @Hidden
    public static void arrayCopy(Object from, int fromIndex, Object to, int toIndex, int length) {
        if (from != null && (U.getLong(from, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.rangeAccess(from, fromIndex, length, false);
        }
        if (to != null && (U.getLong(to, 0L) & HEADER_MASK) != UNTOUCHED && epoch != 0) {
            UntetherShadow.rangeAccess(to, toIndex, length, true);
        }
    }

    @Hidden
    public static void reflectiveRead(Field field, Object object) {
        if (epoch != 0) {
            UntetherShadow.reflectiveAccess(field, object, false);
        }
    }

    @Hidden
    public static void reflectiveWrite(Field field, Object object) {
        if (epoch != 0) {
            UntetherShadow.reflectiveAccess(field, object, true);
        }
    }

    @Hidden
    public static void handleBase(Object object) {
        if (epoch != 0) {
            UntetherHandles.base(object);
        }
    }

    @Hidden
    public static void handleField(Object handle) {
        if (epoch != 0) {
            UntetherHandles.fieldOffset(handle);
        }
    }

    @Hidden
    public static void handleStatic(Object handle) {
        if (epoch != 0) {
            UntetherHandles.staticOffset(handle);
        }
    }

    @Hidden
    public static void initializerEnter(int initializer) {
        if (epoch != 0) {
            UntetherActors.initializerEnter(initializer);
        }
    }

    @Hidden
    public static void initializerExit(int initializer) {
        if (epoch != 0) {
            UntetherActors.initializerExit(initializer);
        }
    }

    @Hidden
    public static void boundary(int hook, Object self, Object first, Object second) {
        switch (hook) {
            case UntetherEvents.THREAD_STARTED:
                if (epoch != 0) {
                    UntetherActors.hasNewThreads = true;
                }
                break;
            case UntetherEvents.THREAD_ENDING:
                // What a thread clears of its own when it ends is no doing of the test that runs by then.
                if (epoch != 0) {
                    UntetherLock.suspend();
                }
                break;
            case UntetherEvents.THREAD_ENDED:
                if (epoch != 0) {
                    UntetherLock.resume();
                }
                break;
            default:
                UntetherBoundary.reached(hook, self, first, second);
                break;
        }
    }

    /** What a worker asks of {@link UntetherUndo}, between class runs: the answer, empty where all went well. */
    public static String obey(String command) {
        return UntetherBoundary.obey(command);
    }

    @Hidden
    public static boolean sequential(boolean isParallel) {
        return UntetherBoundary.sequential(isParallel);
    }

    @Hidden
    public static Object sequentialScheduler(Object runner, Object scheduler) {
        return UntetherBoundary.sequentialScheduler(runner, scheduler);
    }

    /** The test classes that a build tool is about to run, without those that need not. */
    @Hidden
    public static Object chosen(Object classes) {
        return UntetherBoundary.chosen(classes);
    }
}
