package java.lang;

/**
 * Writes what happened as frames, through {@code UntetherFrames}, which is made from the crate untether-wire that reads them.
 * A frame is its length (four bytes, little endian), a tag, and fields as variable-length integers and strings.
 */
final class UntetherTrace {
    /** How a slot was written: found empty and filled; left as another test had left it; by a class initializer. */
    static final int LAZY = 1;
    static final int UNCHANGED = 2;
    static final int BY_INITIALIZER = 4;

    private static final int FLUSH_AT = 1 << 16;

    private static byte[] buffer = new byte[FLUSH_AT + (1 << 12)];
    private static int length;

    /** Where the last whole frame ends: one that an error cut off is overwritten. */
    private static int committed;
    private static int lastObject;
    private static int lastSlot;

    private UntetherTrace() {}

    /** The actor's work begins now: for progress and durations. */
    static void started(int actor, long nanos) {
        UntetherFrames.started(actor, nanos);
        flush();
    }

    static void outcome(int actor, int status, long nanos, String message, String trace) {
        UntetherFrames.outcome(actor, status, nanos, message == null ? "" : message, trace == null ? "" : trace);
        flush();
    }

    /** Not all that the class changed was put back. */
    static void notRestored(String name, String reason) {
        UntetherLock.enterSuspended();
        try {
            UntetherFrames.notRestored(name, reason);
            flush();
        } finally {
            UntetherLock.exit();
        }
    }

    /** May be called with or without the lock. */
    static void note(String kind, String text) {
        boolean hasEntered = UntetherLock.enterForced();
        try {
            UntetherFrames.note(kind, text);
            flush();
        } finally {
            if (hasEntered) {
                UntetherLock.exit();
            }
        }
    }

    /** {@code pendingStack} is that of the write, where its segment has not ended and it is not yet told. */
    static void read(int actor, UntetherSlot slot, int writer, int stack, int pendingStack, boolean isEmpty) {
        UntetherFrames.read(actor, numberOf(slot), writer, stack, pendingStack, isEmpty);
    }

    static void write(int actor, UntetherSlot slot, int stack, int flags) {
        if (!UntetherActors.isTelling) {
            return;
        }
        int number = numberOf(slot);
        element(slot);
        UntetherFrames.write(actor, number, stack, (flags & LAZY) != 0, (flags & UNCHANGED) != 0, (flags & BY_INITIALIZER) != 0);
    }

    static void restored(UntetherSlot slot, int writer) {
        if (!UntetherActors.isTelling) {
            return;
        }
        UntetherFrames.restored(numberOf(slot), writer);
    }

    private static int numberOf(UntetherSlot slot) {
        if (slot.number == 0) {
            int object = numberOf(slot.owner);
            slot.number = ++lastSlot;
            UntetherFrames.slot(slot.number, object, place(slot.owner, slot.place), UntetherFields.fieldOf(slot));
            element(slot);
        }
        return slot.number;
    }

    /** Which element of a collection it is may only show once there is one. */
    private static void element(UntetherSlot slot) {
        if (slot.isNamed) {
            return;
        }
        Object old = slot.oldSaved instanceof java.lang.ref.Reference
                ? ((java.lang.ref.Reference<?>) slot.oldSaved).get()
                : null;
        String text = UntetherFields.elementOf(slot, old);
        if (!text.isEmpty()) {
            slot.isNamed = true;
            UntetherFrames.element(slot.number, text);
        }
    }

    private static int numberOf(UntetherObject object) {
        if (object.number == 0) {
            int parent = object.parent == null ? 0 : numberOf(object.parent);
            object.number = ++lastObject;
            String name = object.rootName != null ? object.rootName : object.layout.name;
            String place = parent == 0 ? "" : place(object.parent, object.parentPlace);
            UntetherFrames.object(object.number, object.writer, object.stack, name, parent, place);
        }
        return object.number;
    }

    /** Fields by name, elements and chunks as {@code [3]} or {@code [32..63]}. */
    private static String place(UntetherObject owner, long place) {
        if (!owner.layout.isArray || owner.isMirror) {
            return owner.layout.nameAt(place, owner.isMirror);
        }
        Object array = owner.get();
        int shift = array == null ? 0 : UntetherShadow.chunkShift(array);
        long first = place << shift;
        String text = "[" + Long.toString(first);
        return shift == 0 ? text + "]" : text + ".." + Long.toString(first + (1L << shift) - 1) + "]";
    }

    static void begin(int tag) {
        if (committed > FLUSH_AT) {
            flush();
        }
        length = committed + 4;
        buffer[length++] = (byte) tag;
    }

    static void end() {
        int size = length - committed - 4;
        for (int i = 0; i < 4; i++) {
            buffer[committed + i] = (byte) (size >>> (8 * i));
        }
        committed = length;
    }

    static void flush() {
        if (committed > 0) {
            UntetherNative.emit(buffer, committed);
            committed = 0;
        }
    }

    static void integer(long value) {
        room(10);
        while ((value & ~0x7fL) != 0) {
            buffer[length++] = (byte) (value | 0x80);
            value >>>= 7;
        }
        buffer[length++] = (byte) value;
    }

    /** Length in UTF-16 units, then each unit as an integer: no encoder, hence no woven code, is needed. */
    static void string(String text) {
        int units = Math.min(text.length(), 1 << 16);
        integer(units);
        room(units * 3);
        for (int i = 0; i < units; i++) {
            integer(text.charAt(i));
        }
    }

    private static void room(int needed) {
        if (length + needed > buffer.length) {
            byte[] larger = new byte[Math.max(buffer.length * 2, length + needed)];
            System.arraycopy(buffer, 0, larger, 0, length);
            buffer = larger;
        }
    }
}
