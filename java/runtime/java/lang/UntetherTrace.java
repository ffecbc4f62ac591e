package java.lang;

/**
 * Writes what happened as frames; the crate untether-wire reads them. A frame is its length (four
 * bytes, little endian), a tag, and fields as variable-length integers and strings.
 */
final class UntetherTrace {
    static final int ACTOR = 1;
    static final int OBJECT = 2;
    static final int SLOT = 3;
    static final int READ = 4;
    static final int WRITE = 5;
    static final int RESTORED = 6;
    static final int OUTCOME = 7;
    static final int NOTE = 8;
    static final int STARTED = 9;
    static final int PROPERTY = 10;
    static final int ELEMENT = 11;
    static final int SELECTOR = 12;

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

    static void actor(int number, int kind, int parent, String name, String detail) {
        begin(ACTOR);
        integer(number);
        integer(kind);
        integer(parent);
        string(name);
        string(detail);
        end();
    }

    /** The actor's work begins now: for progress and durations. */
    static void started(int actor, long nanos) {
        begin(STARTED);
        integer(actor);
        integer(nanos);
        end();
        flush();
    }

    static void outcome(int actor, int status, long nanos, String message, String trace) {
        begin(OUTCOME);
        integer(actor);
        integer(status);
        integer(nanos);
        string(message == null ? "" : message);
        string(trace == null ? "" : trace);
        end();
        flush();
    }

    static void property(String name, String value) {
        begin(PROPERTY);
        string(name);
        string(value);
        end();
    }

    static void selector(String test, String uniqueId) {
        begin(SELECTOR);
        string(test);
        string(uniqueId);
        end();
    }

    /** May be called with or without the lock. */
    static void note(String kind, String text) {
        boolean hasEntered = UntetherLock.enterForced();
        try {
            begin(NOTE);
            string(kind);
            string(text);
            end();
            flush();
        } finally {
            if (hasEntered) {
                UntetherLock.exit();
            }
        }
    }

    /** {@code pendingStack} is that of the write, where its segment has not ended and it is not yet told. */
    static void read(int actor, UntetherSlot slot, int writer, int stack, int pendingStack, boolean isEmpty) {
        int number = numberOf(slot);
        begin(READ);
        integer(actor);
        integer(number);
        integer(writer);
        integer(stack);
        integer(pendingStack);
        integer(isEmpty ? 1 : 0);
        end();
    }

    static void write(int actor, UntetherSlot slot, int stack, int flags) {
        if (UntetherUndo.window != 0) {
            return;
        }
        int number = numberOf(slot);
        element(slot);
        begin(WRITE);
        integer(actor);
        integer(number);
        integer(stack);
        integer(flags);
        end();
    }

    static void restored(UntetherSlot slot, int writer) {
        int number = numberOf(slot);
        begin(RESTORED);
        integer(number);
        integer(writer);
        end();
    }

    private static int numberOf(UntetherSlot slot) {
        if (slot.number == 0) {
            int object = numberOf(slot.owner);
            slot.number = ++lastSlot;
            begin(SLOT);
            integer(slot.number);
            integer(object);
            place(slot.owner, slot.place);
            string(UntetherFields.fieldOf(slot));
            end();
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
            begin(ELEMENT);
            integer(slot.number);
            string(text);
            end();
        }
    }

    private static int numberOf(UntetherObject object) {
        if (object.number == 0) {
            int parent = object.parent == null ? 0 : numberOf(object.parent);
            object.number = ++lastObject;
            begin(OBJECT);
            integer(object.number);
            integer(object.writer);
            integer(object.stack);
            string(object.rootName != null ? object.rootName : object.layout.name);
            integer(parent);
            if (parent == 0) {
                string("");
            } else {
                place(object.parent, object.parentPlace);
            }
            end();
        }
        return object.number;
    }

    /** Fields by name, elements and chunks as {@code [3]} or {@code [32..63]}. */
    private static void place(UntetherObject owner, long place) {
        if (!owner.layout.isArray || owner.isMirror) {
            string(owner.layout.nameAt(place, owner.isMirror));
            return;
        }
        Object array = owner.get();
        int shift = array == null ? 0 : UntetherShadow.chunkShift(array);
        long first = place << shift;
        String text = "[" + Long.toString(first);
        string(shift == 0 ? text + "]" : text + ".." + Long.toString(first + (1L << shift) - 1) + "]");
    }

    private static void begin(int tag) {
        if (committed > FLUSH_AT) {
            flush();
        }
        length = committed + 4;
        buffer[length++] = (byte) tag;
    }

    private static void end() {
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

    private static void integer(long value) {
        room(10);
        while ((value & ~0x7fL) != 0) {
            buffer[length++] = (byte) (value | 0x80);
            value >>>= 7;
        }
        buffer[length++] = (byte) value;
    }

    /** Length in UTF-16 units, then each unit as an integer: no encoder, hence no woven code, is needed. */
    private static void string(String text) {
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
