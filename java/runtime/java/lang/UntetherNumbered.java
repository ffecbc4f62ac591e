package java.lang;

import jdk.internal.vm.annotation.Hidden;

/** The fields that probes name by number: which class declares them, and where they are. */
final class UntetherNumbered {
    /** Numbered instance fields, resolved: declaring class's layout and offset. */
    private static UntetherLayout[] fieldLayout = new UntetherLayout[1 << 12];
    private static long[] fieldOffset = new long[1 << 12];

    /** Numbered static fields, resolved: the record of their class and the offset in it. */
    static UntetherObject[] staticOwner = new UntetherObject[1 << 12];
    static long[] staticOffset = new long[1 << 12];

    private UntetherNumbered() {}

    /** The offset of an instance field in objects of this layout; -1 where it has none. */
    static long instanceOffset(int field, UntetherLayout layout) {
        if (field >= fieldLayout.length) {
            int length = Integer.highestOneBit(field) * 2;
            UntetherLayout[] layouts = new UntetherLayout[length];
            System.arraycopy(fieldLayout, 0, layouts, 0, fieldLayout.length);
            long[] offsets = new long[length];
            System.arraycopy(fieldOffset, 0, offsets, 0, fieldOffset.length);
            fieldLayout = layouts;
            fieldOffset = offsets;
        }
        UntetherLayout known = fieldLayout[field];
        for (UntetherLayout at = layout; known != null && at != null; at = at.parent) {
            if (at == known) {
                return fieldOffset[field];
            }
        }
        String[] parts = UntetherNative.field(field, false);
        UntetherLayout at = layout;
        while (at != null && !at.name.equals(parts[0])) {
            at = at.parent;
        }
        if (at == null) {
            return -1;
        }
        long offset = at.offsetOf(parts[1], parts[2].charAt(0), false);
        fieldLayout[field] = at;
        fieldOffset[field] = offset;
        return offset;
    }

    /** Finds the class and offset of a static field; runs without the lock, as it may load a class. */
    @Hidden
    static boolean resolveStatic(int field) {
        UntetherObject[] owners = staticOwner;
        if (field < owners.length && owners[field] != null) {
            return staticOffset[field] >= 0;
        }
        Class<?> named = UntetherNative.staticOwner(field);
        String[] parts = null;
        if (named == null) {
            if (!UntetherLock.suspend()) {
                return false;
            }
            try {
                parts = UntetherNative.field(field, true);
                named = Class.forName(parts[0], false, UntetherNative.staticLoader(field));
            } catch (Throwable unresolvable) {
                return false;
            } finally {
                UntetherLock.resume();
            }
        }
        if (!UntetherLock.enter()) {
            return false;
        }
        try {
            parts = UntetherNative.field(field, true);
            Class<?> declaring = declaringClass(named, parts[1], parts[2].charAt(0));
            if (field >= staticOwner.length) {
                int length = Integer.highestOneBit(field) * 2;
                UntetherObject[] grown = new UntetherObject[length];
                System.arraycopy(staticOwner, 0, grown, 0, staticOwner.length);
                long[] offsets = new long[length];
                System.arraycopy(staticOffset, 0, offsets, 0, staticOffset.length);
                staticOffset = offsets;
                staticOwner = grown;
            }
            if (declaring == null) {
                return false;
            }
            UntetherObject owner = UntetherShadow.mirror(declaring, 0);
            staticOffset[field] = owner.layout.offsetOf(parts[1], parts[2].charAt(0), true);
            staticOwner[field] = owner;
            return staticOffset[field] >= 0;
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
        return false;
    }

    /**
     * JVMS 5.4.3.2: the class itself, its superinterfaces, then its superclass. The one that declares the field is at least
     * being initialised, as the program has read it; others may not even be prepared, and are not looked at.
     */
    private static Class<?> declaringClass(Class<?> from, String name, char type) {
        for (Class<?> at = from; at != null; at = at.getSuperclass()) {
            if (UntetherNative.isPrepared(at) && UntetherLayout.of(at).declares(name, type)) {
                return at;
            }
            for (Class<?> parent : at.getInterfaces()) {
                Class<?> found = declaringClass(parent, name, type);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }
}
