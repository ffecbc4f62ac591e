package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * The values that a thread holds in thread-local variables, put back by variable.
 *
 * <p>All variables of a thread share one table with open addressing: an element by itself, or how full the table is, cannot
 * be put back without the rest. So the table stays as it is, and a variable that had no value gets a stale entry instead,
 * which is as good as none to whoever looks for it.
 */
final class UntetherLocals {
    private static final Unsafe U = Untether.U;
    private static final long TABLE = U.objectFieldOffset(ThreadLocal.ThreadLocalMap.class, "table");

    private UntetherLocals() {}

    static boolean isOfTable(UntetherObject owner) {
        Object object = owner.isMirror ? null : owner.get();
        return object instanceof ThreadLocal.ThreadLocalMap || object instanceof ThreadLocal.ThreadLocalMap.Entry[];
    }

    /** Takes values away that the variables of these fields, or of all others, have been given since the window began. */
    static void revert(Thread thread, int window, String[] fields, boolean isListed) {
        revert(thread.threadLocals, window, fields, isListed);
        revert(thread.inheritableThreadLocals, window, fields, isListed);
    }

    private static void revert(ThreadLocal.ThreadLocalMap map, int window, String[] fields, boolean isListed) {
        for (ThreadLocal.ThreadLocalMap.Entry entry : entries(map)) {
            if (isNew(entry, window) && UntetherUndo.contains(fields, fieldOf(entry)) == isListed) {
                entry.clear();
            }
        }
    }

    /** The fields of the variables that have been given values since the window began. */
    static void addFields(Thread thread, int window, StringBuilder lines) {
        addFields(thread.threadLocals, window, lines);
        addFields(thread.inheritableThreadLocals, window, lines);
    }

    private static void addFields(ThreadLocal.ThreadLocalMap map, int window, StringBuilder lines) {
        for (ThreadLocal.ThreadLocalMap.Entry entry : entries(map)) {
            if (isNew(entry, window)) {
                UntetherUndo.addLine(lines, fieldOf(entry));
            }
        }
    }

    private static ThreadLocal.ThreadLocalMap.Entry[] entries(ThreadLocal.ThreadLocalMap map) {
        return map == null ? new ThreadLocal.ThreadLocalMap.Entry[0]
                : (ThreadLocal.ThreadLocalMap.Entry[]) U.getReference(map, TABLE);
    }

    private static boolean isNew(ThreadLocal.ThreadLocalMap.Entry entry, int window) {
        int hash = entry == null || entry.get() == null ? 0 : UntetherHeader.existingHash(entry);
        UntetherObject shared = hash == 0 ? null : UntetherShadow.find(entry, hash);
        return shared != null && shared.madeIn >= window;
    }

    private static String fieldOf(ThreadLocal.ThreadLocalMap.Entry entry) {
        UntetherObject local = UntetherFields.localOf(entry);
        return UntetherFields.fieldOfLocal(local);
    }
}
