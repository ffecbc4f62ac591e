package java.lang;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The table of shared objects and what probes do once an object may be in it.
 *
 * <p>In front of the table stands a cache of 'this access was recorded in this epoch', keyed by the
 * object's hash and the slot. It cannot mix up two registered objects, as those of equal hash are never
 * cached, nor a registered and a foreign one, as objects are only registered together with a new epoch.
 */
final class UntetherShadow {
    private static final Unsafe U = Untether.U;

    private static final long CACHE = Untether.TABLES + (16L << 20);
    private static final int CACHE_BITS = 20;
    private static final int KEY_BITS = 20;
    private static final int EPOCH_BITS = 12;

    /** Keys from here on are offsets of raw accesses; below are field numbers and array chunks. */
    private static final int RAW_KEYS = 1 << (KEY_BITS - 1);

    private static final int UNCACHED = -1;

    /** Arrays of references up to this length are tracked by element, longer arrays in at most this many chunks. */
    private static final int MOST_CHUNKS = 4096;

    private static UntetherObject[] table = new UntetherObject[1 << 16];
    private static int size;

    private UntetherShadow() {}

    // ---- accesses, as the probes report them

    @Hidden
    @DontInline
    static void fieldAccess(Object object, int field, boolean isWrite) {
        int epoch = Untether.epoch;
        if (epoch == 0) {
            return;
        }
        int hash = UntetherHeader.existingHash(object);
        if (hash != 0 && !isCached(hash, field, epoch, isWrite)) {
            fieldSlow(object, hash, field, isWrite);
        }
    }

    @Hidden
    @DontInline
    static void elementAccess(Object array, int index, boolean isWrite) {
        int epoch = Untether.epoch;
        if (epoch == 0) {
            return;
        }
        int hash = UntetherHeader.existingHash(array);
        if (hash == 0 || Integer.compareUnsigned(index, UntetherArrays.length(array)) >= 0) {
            return;
        }
        if (UntetherBuffers.isBuffer(array)) {
            UntetherBuffers.access(array, hash, index, index + 1, isWrite, true);
            return;
        }
        int chunk = index >>> chunkShift(array);
        if (!isCached(hash, chunk, epoch, isWrite)) {
            rangeSlow(array, hash, chunk, chunk, !isWrite, isWrite);
        }
    }

    @Hidden
    @DontInline
    static void rangeAccess(Object array, int index, int length, boolean isWrite) {
        rangeAccess(array, index, length, isWrite, true);
    }

    /** Native code is about to write some of these elements, from the first on. */
    @Hidden
    @DontInline
    static void rangeFill(Object array, int index, int length) {
        rangeAccess(array, index, length, true, false);
    }

    @Hidden
    private static void rangeAccess(Object array, int index, int length, boolean isWrite, boolean isSure) {
        if (Untether.epoch == 0 || length <= 0 || index < 0) {
            return;
        }
        int hash = UntetherHeader.existingHash(array);
        if (hash == 0 || !array.getClass().isArray() || index >= UntetherArrays.length(array)) {
            return;
        }
        // Copies may ask for more than there is.
        int to = (int) Math.min((long) index + length, UntetherArrays.length(array));
        elementsAccess(array, hash, index, to, isWrite, isSure);
    }

    /** Elements from one to before another, which there are; not {@code isSure} where only some of them may be written. */
    @Hidden
    private static void elementsAccess(Object array, int hash, int from, int to, boolean isWrite, boolean isSure) {
        if (UntetherBuffers.isBuffer(array)) {
            UntetherBuffers.access(array, hash, from, to, isWrite, isSure);
            return;
        }
        int shift = chunkShift(array);
        int first = from >>> shift;
        int last = (to - 1) >>> shift;
        if (first != last || !isCached(hash, first, Untether.epoch, isWrite)) {
            rangeSlow(array, hash, first, last, !isWrite, isWrite);
        }
    }

    @Hidden
    @DontInline
    static void unsafeAccess(Object object, long offset, int mode) {
        int epoch = Untether.epoch;
        if (epoch == 0) {
            return;
        }
        int hash = UntetherHeader.existingHash(object);
        if (hash == 0) {
            return;
        }
        if (isPrimitiveArray(object)) {
            unsafeElements(object, hash, offset, mode / Untether.BYTES, mode);
            return;
        }
        boolean isRead = (mode & Untether.READS) != 0;
        boolean isWrite = (mode & Untether.WRITES) != 0;
        int key = offset >= 0 && offset < (1L << (KEY_BITS + 1)) && (offset & 3) == 0
                ? RAW_KEYS | (int) (offset >>> 2)
                : UNCACHED;
        if (key != UNCACHED && (!isRead || isCached(hash, key, epoch, false))
                && (!isWrite || isCached(hash, key, epoch, true))) {
            return;
        }
        unsafeSlow(object, hash, key, offset, isRead, isWrite);
    }

    /** Only the memory of primitive arrays can be copied or filled as a whole. */
    @Hidden
    @DontInline
    static void unsafeRange(Object object, long offset, long bytes, int mode) {
        int hash = UntetherHeader.existingHash(object);
        if (hash != 0 && Untether.epoch != 0 && isPrimitiveArray(object)) {
            unsafeElements(object, hash, offset, bytes, mode);
        }
    }

    private static boolean isPrimitiveArray(Object object) {
        return !(object instanceof Object[]) && object.getClass().isArray();
    }

    private static void unsafeElements(Object array, int hash, long offset, long bytes, int mode) {
        char type = UntetherArrays.typeOf(array);
        long start = offset - UntetherArrays.base(type);
        int scale = UntetherArrays.scale(type);
        long to = Math.min((start + bytes + scale - 1) / scale, UntetherArrays.length(array));
        if (start < 0 || start / scale >= to) {
            return;
        }
        if ((mode & Untether.READS) != 0) {
            elementsAccess(array, hash, (int) (start / scale), (int) to, false, true);
        }
        if ((mode & Untether.WRITES) != 0) {
            elementsAccess(array, hash, (int) (start / scale), (int) to, true, true);
        }
    }

    @Hidden
    @DontInline
    @ReservedStackAccess
    static void readAll(Object object) {
        if (Untether.epoch == 0) {
            return;
        }
        int hash = UntetherHeader.existingHash(object);
        if (hash == 0) {
            return;
        }
        if (object.getClass().isArray()) {
            int length = UntetherArrays.length(object);
            if (length > 0) {
                elementsAccess(object, hash, 0, length, false, true);
            }
            return;
        }
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject shared = find(object, hash);
            if (shared != null && !shared.isMirror) {
                for (UntetherLayout layout = shared.layout; layout != null; layout = layout.parent) {
                    layout.readSlots(shared);
                }
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    @Hidden
    @DontInline
    static void writeAll(Object array) {
        if (array.getClass().isArray()) {
            rangeAccess(array, 0, UntetherArrays.length(array), true);
        }
    }

    @Hidden
    @DontInline
    @ReservedStackAccess
    static void reflectiveAccess(Field field, Object object, boolean isWrite) {
        if (Modifier.isFinal(field.getModifiers())) {
            return;
        }
        boolean isStatic = Modifier.isStatic(field.getModifiers());
        if (!isStatic && (object == null || UntetherHeader.existingHash(object) == 0)) {
            return;
        }
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherLayout layout = UntetherLayout.of(field.getDeclaringClass());
            long offset = layout.offsetOf(field.getName(), descriptorOf(field.getType()), isStatic);
            UntetherObject shared = isStatic
                    ? mirror(field.getDeclaringClass(), 0)
                    : find(object, UntetherHeader.existingHash(object));
            if (shared != null && offset >= 0) {
                slotAccess(shared, offset, !isWrite, isWrite);
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    private static char descriptorOf(Class<?> type) {
        if (type.isArray()) {
            return '[';
        }
        return type.isPrimitive() ? type.descriptorString().charAt(0) : 'L';
    }

    @Hidden
    @DontInline
    static void staticAccess(int field, boolean isWrite) {
        int epoch = Untether.epoch;
        if (epoch == 0) {
            return;
        }
        if (!UntetherLock.isInside() && UntetherNumbered.resolveStatic(field)) {
            staticSlow(field, isWrite);
        }
        if (UntetherActors.ownsEpoch() && Untether.epoch == epoch && !UntetherLock.isInside()
                && !(isWrite && UntetherActors.isThorough)) {
            U.putInt((isWrite ? Untether.STATIC_WRITES : Untether.STATIC_READS) + ((long) field << 2), epoch);
        }
    }

    @Hidden
    @DontInline
    @ReservedStackAccess
    static void constantAccess(int field) {
        if (Untether.epoch == 0 || UntetherLock.isInside() || !UntetherNumbered.resolveStatic(field) || !UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject owner = UntetherNumbered.staticOwner[field];
            if (UntetherActors.isTainted(owner.writer)) {
                slotAccess(owner, UntetherNumbered.staticOffset[field], true, false);
            } else if (!UntetherActors.isInitializing(owner.writer)) {
                U.putByte(Untether.CONSTANTS + field, (byte) 0);
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    // ---- the slow halves

    @ReservedStackAccess
    private static void staticSlow(int field, boolean isWrite) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            slotAccess(UntetherNumbered.staticOwner[field], UntetherNumbered.staticOffset[field], !isWrite, isWrite);
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    @ReservedStackAccess
    private static void fieldSlow(Object object, int hash, int field, boolean isWrite) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject shared = find(object, hash);
            if (shared != null && !shared.isMirror) {
                long offset = UntetherNumbered.instanceOffset(field, shared.layout);
                if (offset >= 0) {
                    slotAccess(shared, offset, !isWrite, isWrite);
                }
            }
            remember(shared, hash, field, isWrite);
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    @ReservedStackAccess
    private static void rangeSlow(
            Object array, int hash, int firstChunk, int lastChunk, boolean isRead, boolean isWrite) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject shared = find(array, hash);
            for (int chunk = firstChunk; chunk <= lastChunk; chunk++) {
                if (shared != null) {
                    access(shared.slot(chunk, shared.layout.elementType), isRead, isWrite);
                }
                if (chunk < RAW_KEYS) {
                    remember(shared, hash, chunk, isWrite);
                }
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    @ReservedStackAccess
    private static void unsafeSlow(
            Object object, int hash, int key, long offset, boolean isRead, boolean isWrite) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            UntetherObject shared = find(object, hash);
            if (shared != null && shared.layout.isArray && !shared.isMirror) {
                char type = shared.layout.elementType;
                long index = (offset - UntetherArrays.base(type)) / UntetherArrays.scale(type);
                if (index >= 0 && index < UntetherArrays.length(object)) {
                    int chunk = (int) index >>> chunkShift(object);
                    access(shared.slot(chunk, shared.layout.elementType), isRead, isWrite);
                }
            } else if (shared != null) {
                slotAccess(shared, offset, isRead, isWrite);
            }
            if (key != UNCACHED) {
                if (isRead) {
                    remember(shared, hash, key, false);
                }
                if (isWrite) {
                    remember(shared, hash, key, true);
                }
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    static void slotAccess(UntetherObject shared, long offset, boolean isRead, boolean isWrite) {
        char type = shared.layout.typeAt(offset, shared.isMirror);
        if (type != 0) {
            access(shared.slot(offset, type), isRead, isWrite);
        }
    }

    private static void access(UntetherSlot slot, boolean isRead, boolean isWrite) {
        if (isRead) {
            UntetherActors.read(slot);
        }
        if (isWrite) {
            UntetherActors.write(slot);
        }
    }

    // ---- the cache

    private static long tag(int hash, int key, int epoch, boolean isWrite) {
        return ((long) hash << 33) | ((long) key << 13) | (isWrite ? 1L << 12 : 0L) | (epoch & ((1 << EPOCH_BITS) - 1));
    }

    private static long address(int hash, int key, boolean isWrite) {
        int mixed = hash + key * 0x9E3779B1 + (isWrite ? 0x5bd1e995 : 0);
        return CACHE + ((long) ((mixed ^ (mixed >>> 15)) & ((1 << CACHE_BITS) - 1)) << 3);
    }

    static boolean isCached(int hash, int key, int epoch, boolean isWrite) {
        return U.getLong(address(hash, key, isWrite)) == tag(hash, key, epoch, isWrite);
    }

    static void remember(UntetherObject shared, int hash, int key, boolean isWrite) {
        boolean isExact = shared == null ? !isHashTaken(hash) : !shared.isAmbiguous;
        if (isExact && UntetherActors.ownsEpoch() && !(isWrite && UntetherActors.isThorough)) {
            U.putLong(address(hash, key, isWrite), tag(hash, key, Untether.epoch, isWrite));
        }
    }

    /** Called when an epoch number's low bits come round again. */
    static void clearCacheOnWrap(int epoch) {
        if ((epoch & ((1 << EPOCH_BITS) - 1)) == 0) {
            U.setMemory(CACHE, 8L << CACHE_BITS, (byte) 0);
        }
    }

    // ---- the table

    static UntetherObject find(Object object, int hash) {
        for (UntetherObject entry = table[hash & (table.length - 1)]; entry != null; entry = entry.next) {
            if (entry.hash == hash && entry.get() == object) {
                return entry;
            }
        }
        return null;
    }

    private static boolean isHashTaken(int hash) {
        for (UntetherObject entry = table[hash & (table.length - 1)]; entry != null; entry = entry.next) {
            if (entry.hash == hash) {
                return true;
            }
        }
        return false;
    }

    static void insert(UntetherObject shared) {
        if (++size > table.length) {
            rehash();
        }
        int bucket = shared.hash & (table.length - 1);
        for (UntetherObject entry = table[bucket]; entry != null; entry = entry.next) {
            if (entry.hash == shared.hash) {
                entry.isAmbiguous = true;
                shared.isAmbiguous = true;
            }
        }
        shared.next = table[bucket];
        table[bucket] = shared;
    }

    /** Drops what the collector has cleared; grows where that was not enough. */
    private static void rehash() {
        UntetherObject[] old = table;
        int live = 0;
        for (UntetherObject head : old) {
            for (UntetherObject entry = head; entry != null; entry = entry.next) {
                live += entry.get() != null ? 1 : 0;
            }
        }
        UntetherObject[] fresh = live * 2 > old.length ? new UntetherObject[old.length * 2] : new UntetherObject[old.length];
        for (UntetherObject head : old) {
            UntetherObject entry = head;
            while (entry != null) {
                UntetherObject following = entry.next;
                if (entry.get() != null) {
                    int bucket = entry.hash & (fresh.length - 1);
                    entry.next = fresh[bucket];
                    fresh[bucket] = entry;
                }
                entry = following;
            }
        }
        size = live + 1;
        table = fresh;
    }

    /** The record of a class's static fields, made when first needed. */
    static UntetherObject mirror(Class<?> type, int writer) {
        int hash = System.identityHashCode(type);
        UntetherObject shared = find(type, hash);
        if (shared == null) {
            shared = new UntetherObject(type, hash, null, 0, writer, 0, UntetherLayout.of(type), true, null);
            insert(shared);
            // What was remembered of this hash was said of a stranger.
            UntetherActors.nextEpoch();
        }
        return shared;
    }

    static int chunkShift(Object array) {
        int length = UntetherArrays.length(array);
        if (UntetherBuffers.isBuffer(array)) {
            return Math.max(UntetherBuffers.CELL_BITS, shiftFor(length));
        }
        return length <= MOST_CHUNKS ? 0 : shiftFor(length);
    }

    private static int shiftFor(int length) {
        return 32 - Integer.numberOfLeadingZeros((length - 1) / MOST_CHUNKS);
    }
}
