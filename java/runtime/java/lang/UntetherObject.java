package java.lang;

import java.lang.ref.WeakReference;

/** What is known of one shared object, array or class mirror. Holds the object weakly. */
final class UntetherObject extends WeakReference<Object> {
    /** Paths longer than this are named by their first part: it bounds what a long chain keeps alive. */
    static final int DEEPEST = 12;

    final int hash;
    UntetherObject next;

    /** The shared object through which this one was found, and where in it; null for roots. */
    final UntetherObject parent;

    final long parentPlace;

    /**
     * For one of the JDK's objects: the outermost of them that it is part of, and what other than the JDK's holds that; null
     * where a root does. For others: itself, and null.
     */
    final UntetherObject container;

    final UntetherObject containerHolder;
    final int depth;

    /** The actor that made this object reachable: the writer of all slots that have no record. */
    int writer;

    /** The stack of the store that made it reachable. */
    final int stack;

    final UntetherLayout layout;

    /** Another registered object has the same hash, so the hash alone does not tell them apart. */
    boolean isAmbiguous;

    /** For class mirrors: the slots are the class's static fields. */
    final boolean isMirror;

    /** A primitive array whose slots are {@link UntetherChunk}s. */
    final boolean isBuffer;

    /** The name of a root that is no class. */
    final String rootName;

    int number;

    /** The stretch in which a test made it reachable, as {@link UntetherUndo} numbers them; 0 for other objects. */
    int madeIn;

    /** For what is put back as a whole: the last stretch in which another thread than the worker's wrote to it. */
    int foreignIn;

    /** For what a root refers to: the stretch in which a test wrote below it; for that, and for containers, when an initializer did. */
    int writtenIn;
    int mixedIn;

    /** The nearest field on the way from the root that is not one of the JDK's objects; null where there is none. */
    UntetherLayout holder;
    long holderPlace;
    boolean isHeldByStatic;

    /** The stack of the first foreign read in a segment, and whose it was. */
    int readStack;
    int stackSegment;
    int stackActor;

    /** The stack of the first write to a buffer in a segment, and whose it was. */
    int writeStack;
    int writeStackSegment;
    int writeStackActor;

    private UntetherSlot[] slots;
    private int count;

    UntetherObject(
            Object object, int hash, UntetherObject parent, long parentPlace, int writer, int stack,
            UntetherLayout layout, boolean isMirror, String rootName) {
        super(object);
        this.hash = hash;
        boolean isDeep = parent != null && parent.depth >= DEEPEST;
        this.parent = isDeep ? parent.parent : parent;
        this.parentPlace = isDeep ? parent.parentPlace : parentPlace;
        this.depth = this.parent == null ? 0 : this.parent.depth + 1;
        this.writer = writer;
        this.stack = stack;
        this.layout = layout;
        this.isMirror = isMirror;
        this.isBuffer = layout.isArray && !isMirror && UntetherBuffers.isBuffer(object);
        this.rootName = rootName;
        boolean isHeld = isPart() && parent != null && !parent.isMirror;
        this.container = isHeld && parent.isPart() ? parent.container : this;
        this.containerHolder = !isHeld ? null : parent.isPart() ? parent.containerHolder : parent;
        if (parent == null) {
            return;
        }
        if (parent.isMirror || !parent.layout.isTransparent) {
            this.holder = parent.layout;
            this.holderPlace = parentPlace;
            this.isHeldByStatic = parent.isMirror;
        } else {
            heldLike(parent);
        }
    }

    /** Whether it is one of the JDK's objects, or an array. */
    boolean isPart() {
        return !isMirror && (layout.isTransparent || layout.isArray);
    }

    /** What is put back together with it: the JDK's container that it is part of, or itself. */
    UntetherObject whole() {
        return isPart() ? container : this;
    }

    void heldLike(UntetherObject other) {
        holder = other.holder;
        holderPlace = other.holderPlace;
        isHeldByStatic = other.isHeldByStatic;
    }

    UntetherSlot slot(long place, char type) {
        UntetherSlot[] table = slots;
        if (table == null) {
            table = slots = new UntetherSlot[4];
        }
        int index = bucket(place, table.length);
        for (UntetherSlot slot = table[index]; slot != null; slot = slot.next) {
            if (slot.place == place) {
                return slot;
            }
        }
        if (++count > table.length * 2) {
            table = grow(table);
            index = bucket(place, table.length);
        }
        UntetherSlot slot = isBuffer
                ? new UntetherChunk(this, place, type, table[index])
                : new UntetherSlot(this, place, type, table[index]);
        table[index] = slot;
        return slot;
    }

    private UntetherSlot[] grow(UntetherSlot[] old) {
        UntetherSlot[] table = new UntetherSlot[old.length * 4];
        for (UntetherSlot head : old) {
            UntetherSlot slot = head;
            while (slot != null) {
                UntetherSlot following = slot.next;
                int index = bucket(slot.place, table.length);
                slot.next = table[index];
                table[index] = slot;
                slot = following;
            }
        }
        return slots = table;
    }

    private static int bucket(long place, int length) {
        long mixed = place * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 40) & (length - 1);
    }
}
