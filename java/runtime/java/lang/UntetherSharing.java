package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Registers what has become reachable from shared state. Follows only objects not yet registered, so
 * that the work is proportional to what is new.
 */
final class UntetherSharing {
    private static final Unsafe U = Untether.U;

    private static UntetherObject[] pending = new UntetherObject[1024];
    private static Object[] pendingObjects = new Object[1024];
    private static int count;
    private static int writer;
    private static int stack;
    private static int madeIn;

    private UntetherSharing() {}

    /** Everything that the static fields of initialised classes and the threads reach, as nobody's. */
    static void shareAll(Class<?>[] classes, Thread[] threads) {
        for (Class<?> type : classes) {
            statics(type, 0);
        }
        for (Thread thread : threads) {
            root(thread, "ThreadLocal", 0);
        }
    }

    static void statics(Class<?> type, int writer) {
        if (type.isArray() || type.isPrimitive()) {
            return;
        }
        UntetherLayout layout = UntetherLayout.of(type);
        if (layout.followedStatics.length == 0) {
            return;
        }
        UntetherObject mirror = UntetherShadow.mirror(type, writer);
        begin(writer, 0);
        for (long offset : layout.followedStatics) {
            visit(U.getReference(type, offset), mirror, offset);
        }
        drain();
    }

    /** An object that later tests can reach although no static field leads to it. */
    static void root(Object object, String name, int writer) {
        int hash = System.identityHashCode(object);
        if (UntetherShadow.find(object, hash) != null) {
            return;
        }
        UntetherLayout layout = UntetherLayout.of(object.getClass());
        UntetherObject root = new UntetherObject(object, hash, null, 0, writer, 0, layout, false, name);
        UntetherShadow.insert(root);
        begin(writer, 0);
        push(root, object);
        drain();
    }

    /** What a slot refers to since its writer's segment. */
    static void written(UntetherSlot slot, Object holder) {
        UntetherObject owner = slot.owner;
        if (!slot.isReference()) {
            return;
        }
        begin(slot.writer, slot.writeStack);
        madeIn = UntetherActors.isInitializer(slot.pendingWriter) ? 0 : UntetherUndo.window;
        if (owner.layout.isArray && !owner.isMirror) {
            int end = UntetherValues.chunkEnd(holder, slot);
            Object[] array = (Object[]) holder;
            for (int i = UntetherValues.chunkStart(holder, slot); i < end; i++) {
                visit(array[i], owner, slot.place);
            }
        } else if (owner.layout.isFollowed(slot.place, owner.isMirror)) {
            visit(U.getReference(holder, slot.place), owner, slot.place);
        }
        drain();
    }

    private static void begin(int by, int at) {
        writer = by;
        stack = at;
        madeIn = 0;
        count = 0;
    }

    private static void visit(Object object, UntetherObject parent, long place) {
        if (object == null) {
            return;
        }
        UntetherLayout layout = UntetherLayout.of(object.getClass());
        if (layout.isOpaque) {
            return;
        }
        int hash = UntetherHeader.existingHash(object);
        if (hash != 0 && UntetherShadow.find(object, hash) != null) {
            return;
        }
        hash = System.identityHashCode(object);
        UntetherObject shared =
                new UntetherObject(object, hash, parent, place, writer, stack, layout, false, null);
        shared.madeIn = madeIn;
        UntetherObject local = UntetherFields.localOf(object);
        if (local != null) {
            shared.heldLike(local);
        }
        UntetherShadow.insert(shared);
        push(shared, object);
    }

    private static void push(UntetherObject shared, Object object) {
        if (count == pending.length) {
            UntetherObject[] larger = new UntetherObject[count * 2];
            System.arraycopy(pending, 0, larger, 0, count);
            Object[] largerObjects = new Object[count * 2];
            System.arraycopy(pendingObjects, 0, largerObjects, 0, count);
            pending = larger;
            pendingObjects = largerObjects;
        }
        pending[count] = shared;
        pendingObjects[count++] = object;
    }

    private static void drain() {
        while (count > 0) {
            UntetherObject shared = pending[--count];
            Object object = pendingObjects[count];
            pending[count] = null;
            pendingObjects[count] = null;
            UntetherLayout layout = shared.layout;
            if (!layout.isArray) {
                for (long offset : layout.followed) {
                    visit(U.getReference(object, offset), shared, offset);
                }
            } else if (layout.elementType == 'L' || layout.elementType == '[') {
                Object[] array = (Object[]) object;
                int shift = UntetherShadow.chunkShift(array);
                for (int i = 0; i < array.length; i++) {
                    visit(array[i], shared, i >>> shift);
                }
            }
        }
    }
}
