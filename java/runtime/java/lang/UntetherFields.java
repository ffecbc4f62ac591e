package java.lang;

import java.lang.ref.Reference;
import jdk.internal.misc.Unsafe;

/**
 * What a slot means to a person: the field of the program that holds it, and where it is an element of a collection,
 * which one. Objects of the JDK between that field and the slot (tables, nodes, boxes) are looked through.
 */
final class UntetherFields {
    private static final Unsafe U = Untether.U;
    private static final int LONGEST_KEY = 40;

    /** The field for what no field of the program leads to. */
    private static final String THREAD_LOCAL = "ThreadLocal";

    private UntetherFields() {}

    /** The class that declares the field, in full, and the field: {@code com.example.Cart.items}. */
    static String fieldOf(UntetherSlot slot) {
        UntetherObject owner = slot.owner;
        if (owner.isMirror || !owner.layout.isTransparent) {
            return fieldAt(owner.layout, slot.place, owner.isMirror);
        }
        UntetherLayout holder = owner.holder;
        long place = owner.holderPlace;
        boolean isStatic = owner.isHeldByStatic;
        if (holder == null) {
            UntetherObject local = localOf(owner.get(), slot);
            if (local == null || local.holder == null) {
                return owner.rootName != null ? fieldAt(owner.layout, slot.place, false) : THREAD_LOCAL;
            }
            holder = local.holder;
            place = local.holderPlace;
            isStatic = local.isHeldByStatic;
        }
        return fieldAt(holder, place, isStatic);
    }

    /** The field that holds a thread-local variable, where it is known. */
    static String fieldOfLocal(UntetherObject local) {
        return local == null || local.holder == null
                ? THREAD_LOCAL
                : fieldAt(local.holder, local.holderPlace, local.isHeldByStatic);
    }

    private static String fieldAt(UntetherLayout layout, long place, boolean isStatic) {
        UntetherLayout declaring = layout.declaring(place, isStatic);
        if (declaring == null) {
            return layout.name + ".?";
        }
        // A map of the program's own that extends one of the JDK's is the program's.
        UntetherLayout known = declaring.isTransparent && !layout.isTransparent ? layout : declaring;
        return known.name + "." + declaring.nameAt(place, isStatic);
    }

    /** The thread-local variable whose value an element of a thread's table is. */
    private static UntetherObject localOf(Object table, UntetherSlot slot) {
        if (!(table instanceof ThreadLocal.ThreadLocalMap.Entry[]) || UntetherValues.isChunk(table, slot)) {
            return null;
        }
        return localOf(((ThreadLocal.ThreadLocalMap.Entry[]) table)[(int) slot.place]);
    }

    static UntetherObject localOf(Object entry) {
        Object local = entry instanceof ThreadLocal.ThreadLocalMap.Entry
                ? ((ThreadLocal.ThreadLocalMap.Entry) entry).get()
                : null;
        int hash = local == null ? 0 : UntetherHeader.existingHash(local);
        return hash == 0 ? null : UntetherShadow.find(local, hash);
    }

    /** {@code ["USD"]} or {@code [2]} for what belongs to one element of a collection; empty otherwise. */
    static String elementOf(UntetherSlot slot, Object old) {
        String element = "";
        UntetherObject at = slot.owner;
        long place = slot.place;
        if (isOpenEnd(slot, old)) {
            return element;
        }
        // Whether an entry said what it is about: those before it in its bucket, and the bucket, only lead to it.
        boolean isInBucket = false;
        while (at != null && !at.isMirror && (at.layout.isTransparent || at == slot.owner && at.layout.isArray)) {
            String here = elementAt(at, place, at == slot.owner ? old : null);
            boolean leadsThere = isInBucket && (at.layout.isArray || at.layout.nameAt(place, false).equals("next"));
            element = here == null || leadsThere ? element : here;
            isInBucket = here != null && !at.layout.isArray || leadsThere && !at.layout.isArray;
            place = at.parentPlace;
            at = at.parent;
        }
        return element;
    }

    /** The end of a bucket belongs to none of its entries: who comes there is not known yet. */
    private static boolean isOpenEnd(UntetherSlot slot, Object old) {
        UntetherLayout layout = slot.owner.layout;
        if (old != null || slot.owner.isMirror || layout.isArray || !layout.isTransparent) {
            return false;
        }
        Object object = slot.owner.get();
        return object != null && layout.nameAt(slot.place, false).equals("next")
                && U.getReference(object, slot.place) == null;
    }

    private static String elementAt(UntetherObject at, long place, Object old) {
        Object object = at.get();
        if (object == null) {
            return null;
        }
        if (!at.layout.isArray) {
            // Entries of one bucket hang on each other: what the next one is about is its own key.
            boolean isNext = at.layout.nameAt(place, false).equals("next");
            Object next = isNext ? U.getReference(object, place) : null;
            next = isNext && next == null ? old : next;
            return next == null ? nodeText(object, at.layout) : nodeText(next, UntetherLayout.of(next.getClass()));
        }
        UntetherObject parent = at.parent;
        if (parent == null || parent.isMirror || !parent.layout.isTransparent || isList(parent.layout.name)) {
            return UntetherShadow.chunkShift(object) == 0 ? "[" + Long.toString(place) + "]" : null;
        }
        if (at.layout.elementType != 'L' || UntetherShadow.chunkShift(object) != 0) {
            return null;
        }
        Object element = ((Object[]) object)[(int) place];
        element = element == null ? old : element;
        return element == null ? null : nodeText(element, UntetherLayout.of(element.getClass()));
    }

    private static boolean isList(String name) {
        return name.startsWith("java.util.") && (name.endsWith("List") || name.endsWith("Vector")
                || name.endsWith("Stack") || name.endsWith("Deque") || name.endsWith("Queue"));
    }

    /** The key of a map's node; null for what is none. */
    private static String nodeText(Object node, UntetherLayout layout) {
        if (!layout.isTransparent) {
            return null;
        }
        if (layout.name.equals("java.util.WeakHashMap$Entry")) {
            return keyText(((Reference<?>) node).get());
        }
        long offset = layout.offsetOf("key", 'L', false);
        return offset < 0 ? null : keyText(U.getReference(node, offset));
    }

    private static String keyText(Object key) {
        if (key == null) {
            return "[null]";
        }
        Class<?> type = key.getClass();
        if (type == String.class) {
            String text = (String) key;
            return "[\"" + (text.length() > LONGEST_KEY ? text.substring(0, LONGEST_KEY) + "..." : text) + "\"]";
        }
        if (type == Integer.class || type == Long.class || type == Short.class || type == Byte.class
                || type == Character.class || type == Boolean.class) {
            return "[" + key + "]";
        }
        if (type.getName().equals("java.lang.ProcessEnvironment$Variable")) {
            return "[\"" + key + "\"]";
        }
        if (key instanceof Enum) {
            return "[" + ((Enum<?>) key).name() + "]";
        }
        String name = key instanceof Class ? ((Class<?>) key).getName() : type.getName();
        return "[" + name.substring(name.lastIndexOf('.') + 1) + (key instanceof Class ? ".class]" : "]");
    }
}
