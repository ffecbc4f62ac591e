package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/** Saves and compares what stands in a slot, whatever its type. */
final class UntetherValues {
    private static final Unsafe U = Untether.U;

    private UntetherValues() {}

    /** The bits of a primitive, or 0 for references. */
    static long bits(Object object, UntetherSlot slot) {
        if (isChunk(object, slot)) {
            return 0;
        }
        return bitsAt(object, offset(object, slot), slot.type);
    }

    /**
     * What stands in the slot: null, a weak reference to it (a test may wait for the object to be collected), or a
     * copy of a chunk of several elements. Null for primitives.
     */
    static Object saved(Object object, UntetherSlot slot) {
        if (isChunk(object, slot)) {
            return copy(object, slot);
        }
        Object value = slot.isReference() ? U.getReference(object, offset(object, slot)) : null;
        if (value == null) {
            return null;
        }
        int hash = UntetherHeader.existingHash(value);
        UntetherObject shared = hash == 0 ? null : UntetherShadow.find(value, hash);
        return shared != null ? shared : new WeakReference<Object>(value);
    }

    /** The same, but a reference is the object itself. */
    static Object strong(Object object, UntetherSlot slot) {
        if (isChunk(object, slot)) {
            return copy(object, slot);
        }
        return slot.isReference() ? U.getReference(object, offset(object, slot)) : null;
    }

    /** Stores what {@link #strong} and {@link #bits} gave. */
    static void put(Object object, UntetherSlot slot, Object strong, long bits) {
        if (isChunk(object, slot)) {
            putChunk(object, slot, strong);
            return;
        }
        long offset = offset(object, slot);
        switch (slot.type) {
            case 'J':
            case 'D':
                U.putLongVolatile(object, offset, bits);
                break;
            case 'I':
            case 'F':
                U.putIntVolatile(object, offset, (int) bits);
                break;
            case 'S':
            case 'C':
                U.putShortVolatile(object, offset, (short) bits);
                break;
            case 'B':
            case 'Z':
                U.putByteVolatile(object, offset, (byte) bits);
                break;
            default:
                U.putReferenceVolatile(object, offset, strong);
                break;
        }
    }

    static boolean isUnchanged(Object object, UntetherSlot slot, Object saved, long bits) {
        if (isChunk(object, slot)) {
            return isChunkUnchanged(object, slot, saved);
        }
        if (!slot.isReference()) {
            return bitsAt(object, offset(object, slot), slot.type) == bits;
        }
        Object value = U.getReference(object, offset(object, slot));
        return saved == null ? value == null : value != null && ((WeakReference<?>) saved).get() == value;
    }

    /** Null, zero or false: what a lazily filled slot shows before. */
    static boolean isEmpty(Object object, UntetherSlot slot) {
        if (isChunk(object, slot)) {
            return false;
        }
        return slot.isReference()
                ? U.getReference(object, offset(object, slot)) == null
                : bitsAt(object, offset(object, slot), slot.type) == 0;
    }

    /** A thread-local value whose ThreadLocal is of a class that holds no state of tests. */
    static boolean isPlumbing(Object object, UntetherSlot slot) {
        if (!(object instanceof ThreadLocal.ThreadLocalMap.Entry[]) || isChunk(object, slot)) {
            return false;
        }
        ThreadLocal.ThreadLocalMap.Entry entry = ((ThreadLocal.ThreadLocalMap.Entry[]) object)[(int) slot.place];
        Object key = entry == null ? null : entry.get();
        return key != null && UntetherLayout.of(key.getClass()).isOpaque;
    }

    static boolean isChunk(Object object, UntetherSlot slot) {
        return slot.owner.layout.isArray && !slot.owner.isMirror && UntetherShadow.chunkShift(object) != 0;
    }

    static long offset(Object object, UntetherSlot slot) {
        if (!slot.owner.layout.isArray || slot.owner.isMirror) {
            return slot.place;
        }
        return UntetherArrays.base(slot.type) + slot.place * UntetherArrays.scale(slot.type);
    }

    private static long bitsAt(Object object, long offset, char type) {
        switch (type) {
            case 'J':
            case 'D':
                return U.getLong(object, offset);
            case 'I':
            case 'F':
                return U.getInt(object, offset);
            case 'S':
            case 'C':
                return U.getShort(object, offset);
            case 'B':
            case 'Z':
                return U.getByte(object, offset);
            default:
                return 0;
        }
    }

    static int chunkStart(Object array, UntetherSlot slot) {
        return (int) slot.place << UntetherShadow.chunkShift(array);
    }

    static int chunkEnd(Object array, UntetherSlot slot) {
        int end = chunkStart(array, slot) + (1 << UntetherShadow.chunkShift(array));
        return Math.min(end, UntetherArrays.length(array));
    }

    /** The cells of a chunk that show something else than what was saved. */
    static long changedCells(Object array, UntetherChunk chunk, Object saved) {
        byte[] old = (byte[]) saved;
        int cellBytes = cellBytes(array, chunk);
        long from = UntetherArrays.base(chunk.type) + (long) chunkStart(array, chunk) * UntetherArrays.scale(chunk.type);
        long changed = 0;
        for (int i = 0; i < old.length; i++) {
            if (old[i] != U.getByte(array, from + i)) {
                int cell = i / cellBytes;
                changed |= 1L << cell;
                i = (cell + 1) * cellBytes - 1;
            }
        }
        return changed;
    }

    /** A bit for each cell that the chunk has: the last one of an array may be shorter. */
    static long allCells(Object array, UntetherChunk chunk) {
        int bytes = (chunkEnd(array, chunk) - chunkStart(array, chunk)) * UntetherArrays.scale(chunk.type);
        int cellBytes = cellBytes(array, chunk);
        return -1L >>> UntetherChunk.CELLS - (bytes + cellBytes - 1) / cellBytes;
    }

    private static int cellBytes(Object array, UntetherChunk chunk) {
        return UntetherArrays.scale(chunk.type) << UntetherShadow.chunkShift(array) - UntetherBuffers.CELL_BITS;
    }

    private static Object copy(Object array, UntetherSlot slot) {
        int start = chunkStart(array, slot);
        int count = chunkEnd(array, slot) - start;
        Object copy = slot.isReference() ? new Object[count] : new byte[count * UntetherArrays.scale(slot.type)];
        if (slot.isReference()) {
            System.arraycopy(array, start, copy, 0, count);
        } else {
            long scale = UntetherArrays.scale(slot.type);
            U.copyMemory(array, UntetherArrays.base(slot.type) + start * scale,
                    copy, UntetherArrays.base('B'), count * scale);
        }
        return copy;
    }

    private static void putChunk(Object array, UntetherSlot slot, Object saved) {
        int start = chunkStart(array, slot);
        int count = chunkEnd(array, slot) - start;
        if (slot.isReference()) {
            System.arraycopy(saved, 0, array, start, count);
        } else {
            long scale = UntetherArrays.scale(slot.type);
            U.copyMemory(saved, UntetherArrays.base('B'),
                    array, UntetherArrays.base(slot.type) + start * scale, count * scale);
        }
    }

    private static boolean isChunkUnchanged(Object array, UntetherSlot slot, Object saved) {
        int start = chunkStart(array, slot);
        int count = chunkEnd(array, slot) - start;
        if (slot.isReference()) {
            Object[] old = (Object[]) saved;
            Object[] now = (Object[]) array;
            for (int i = 0; i < count; i++) {
                if (old[i] != now[start + i]) {
                    return false;
                }
            }
            return true;
        }
        byte[] old = (byte[]) saved;
        long from = UntetherArrays.base(slot.type) + (long) start * UntetherArrays.scale(slot.type);
        int at = 0;
        for (; at + 8 <= old.length; at += 8) {
            if (U.getLongUnaligned(old, UntetherArrays.base('B') + at) != U.getLongUnaligned(array, from + at)) {
                return false;
            }
        }
        for (; at < old.length; at++) {
            if (old[at] != U.getByte(array, from + at)) {
                return false;
            }
        }
        return true;
    }
}
