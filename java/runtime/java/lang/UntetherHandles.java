package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * Field accesses through method handles. Their code is spun into hidden classes, which no agent sees,
 * but it calls back into {@code DirectMethodHandle} for the object and for the offset, in that order.
 */
final class UntetherHandles {
    private static final Unsafe U = Untether.U;
    private static final int SLOTS = 1 << 12;
    private static final int REFERENCE_KIND_SHIFT = 24;
    private static final int PUT_FIELD = 3;

    /** By thread number: the object whose field is about to be accessed. Only shared ones are kept. */
    private static final Object[] bases = new Object[SLOTS];

    private static long memberOffset;
    private static long flagsOffset;
    private static long fieldOffsetOffset;
    private static long staticBaseOffset;
    private static long staticOffsetOffset;
    private static boolean isReady;

    private UntetherHandles() {}

    /** Finds the fields of the handles' classes. A JDK that has others is reported, and not watched here. */
    static boolean prepare() {
        try {
            String name = "java.lang.invoke.DirectMethodHandle";
            Class<?> accessor = Class.forName(name + "$Accessor", false, null);
            Class<?> staticAccessor = Class.forName(name + "$StaticAccessor", false, null);
            memberOffset = U.objectFieldOffset(Class.forName(name, false, null), "member");
            flagsOffset = U.objectFieldOffset(Class.forName("java.lang.invoke.MemberName", false, null), "flags");
            fieldOffsetOffset = U.objectFieldOffset(accessor, "fieldOffset");
            staticBaseOffset = U.objectFieldOffset(staticAccessor, "staticBase");
            staticOffsetOffset = U.objectFieldOffset(staticAccessor, "staticOffset");
            isReady = true;
        } catch (Throwable unexpected) {
            isReady = false;
        }
        return isReady;
    }

    @Hidden
    static void base(Object object) {
        if (isReady) {
            boolean isKnown = object != null && UntetherHeader.existingHash(object) != 0;
            bases[slotOfThread()] = isKnown ? object : null;
        }
    }

    @Hidden
    static void fieldOffset(Object handle) {
        if (!isReady) {
            return;
        }
        int slot = slotOfThread();
        Object object = bases[slot];
        if (object != null) {
            bases[slot] = null;
            access(handle, object, U.getInt(handle, fieldOffsetOffset));
        }
    }

    @Hidden
    static void staticOffset(Object handle) {
        if (isReady) {
            Object base = U.getReference(handle, staticBaseOffset);
            // The mirror of a class without record has not been registered yet.
            if (base instanceof Class && UntetherLock.enter()) {
                try {
                    UntetherShadow.mirror((Class<?>) base, 0);
                } finally {
                    UntetherLock.exit();
                }
            }
            access(handle, base, U.getLong(handle, staticOffsetOffset));
        }
    }

    private static void access(Object handle, Object object, long offset) {
        Object member = U.getReference(handle, memberOffset);
        boolean isWrite = ((U.getInt(member, flagsOffset) >>> REFERENCE_KIND_SHIFT) & 15) >= PUT_FIELD;
        UntetherShadow.unsafeAccess(object, offset, isWrite ? Untether.WRITES : Untether.READS);
    }

    private static int slotOfThread() {
        return (int) UntetherThreads.numberOf(Thread.currentThread()) & (SLOTS - 1);
    }
}
