package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/** The fields of one class: where they are, what they are called, which are followed. */
final class UntetherLayout extends WeakReference<Class<?>> {
    private static final Unsafe U = Untether.U;
    private static final int BUCKETS = 1 << 12;
    private static final UntetherLayout[] table = new UntetherLayout[BUCKETS];
    private static final long[] NONE = {};

    final int hash;
    final String name;
    private UntetherLayout next;
    final UntetherLayout parent;

    /** Immutable values and VM plumbing: never registered. */
    final boolean isOpaque;

    final boolean isArray;

    /** Arrays and objects of the JDK: people name them by the field that leads to them. */
    final boolean isTransparent;

    /** Whose it is, as {@link UntetherUndo} sees it: 1 the project's, 2 a library's, 0 not asked yet. */
    byte origin;

    /** For arrays: the element type's first character. */
    final char elementType;

    /** Own and inherited instance fields that hold references and are followed. */
    final long[] followed;

    /** Own static fields that hold references and are followed. */
    final long[] followedStatics;

    private final String[] names;
    private final char[] types;
    private final long[] offsets;
    private final boolean[] statics;
    private final boolean[] ignored;

    private UntetherLayout(Class<?> type, int hash) {
        super(type);
        this.hash = hash;
        this.name = type.getName();
        this.isArray = type.isArray();
        this.isTransparent = isArray || isOfJdk(name);
        Class<?> superclass = isArray ? null : type.getSuperclass();
        this.parent = superclass == null ? null : of(superclass);
        if (isArray) {
            this.elementType = name.charAt(1);
            this.isOpaque = false;
            this.followed = this.followedStatics = NONE;
            this.names = new String[0];
            this.types = new char[0];
            this.offsets = NONE;
            this.statics = this.ignored = new boolean[0];
            return;
        }
        this.elementType = 0;
        int[][] told = new int[1][];
        names = UntetherNative.fields(type, told);
        int[] facts = told[0];
        this.isOpaque = facts[0] != 0 || (parent != null && parent.isOpaque);
        int count = names.length;
        types = new char[count];
        offsets = new long[count];
        statics = new boolean[count];
        ignored = new boolean[count];
        long[] own = new long[count];
        long[] ownStatics = new long[count];
        int ownCount = 0;
        int ownStaticCount = 0;
        for (int i = 0; i < count; i++) {
            int fact = facts[i + 1];
            types[i] = (char) (fact & UntetherFacts.TYPE);
            statics[i] = (fact & UntetherFacts.IS_STATIC) != 0;
            ignored[i] = (fact & UntetherFacts.IS_IGNORED) != 0;
            boolean isOpaqueField = (fact & UntetherFacts.IS_OPAQUE) != 0;
            offsets[i] = offsetOf(type, names[i]);
            ignored[i] |= offsets[i] < 0;
            boolean isFollowed = (types[i] == 'L' || types[i] == '[') && !ignored[i] && !isOpaqueField;
            if (isFollowed && statics[i]) {
                ownStatics[ownStaticCount++] = offsets[i];
            } else if (isFollowed) {
                own[ownCount++] = offsets[i];
            }
        }
        long[] inherited = parent == null ? NONE : parent.followed;
        followed = new long[inherited.length + ownCount];
        System.arraycopy(inherited, 0, followed, 0, inherited.length);
        System.arraycopy(own, 0, followed, inherited.length, ownCount);
        followedStatics = new long[ownStaticCount];
        System.arraycopy(ownStatics, 0, followedStatics, 0, ownStaticCount);
    }

    static boolean isOfJdk(String name) {
        return name.startsWith("java.") || name.startsWith("javax.") || name.startsWith("jdk.")
                || name.startsWith("sun.") || name.startsWith("com.sun.");
    }

    /** Negative for names that do not survive the way through the agent: outside the basic plane. */
    private static long offsetOf(Class<?> type, String field) {
        try {
            return U.objectFieldOffset(type, field);
        } catch (InternalError unknown) {
            UntetherTrace.note("field", type.getName() + "." + field + " is not watched");
            return -1;
        }
    }

    static UntetherLayout of(Class<?> type) {
        int hash = System.identityHashCode(type);
        int bucket = hash & (BUCKETS - 1);
        for (UntetherLayout layout = table[bucket]; layout != null; layout = layout.next) {
            if (layout.hash == hash && layout.get() == type) {
                return layout;
            }
        }
        UntetherLayout layout = new UntetherLayout(type, hash);
        layout.next = table[bucket];
        table[bucket] = layout;
        return layout;
    }

    /** The first character of the descriptor of the field at this offset, 0 where it is not recorded. */
    char typeAt(long offset, boolean isStatic) {
        for (UntetherLayout layout = this; layout != null; layout = isStatic ? null : layout.parent) {
            int index = layout.indexOf(offset, isStatic);
            if (index >= 0) {
                return layout.ignored[index] ? 0 : layout.types[index];
            }
        }
        return 0;
    }

    /** Reads every instance field that this class itself declares. */
    void readSlots(UntetherObject shared) {
        for (int i = 0; i < offsets.length; i++) {
            if (!statics[i] && !ignored[i]) {
                UntetherActors.read(shared.slot(offsets[i], types[i]));
            }
        }
    }

    String nameAt(long offset, boolean isStatic) {
        UntetherLayout declaring = declaring(offset, isStatic);
        return declaring == null ? "?" : declaring.names[declaring.indexOf(offset, isStatic)];
    }

    /** This class or the one above it that declares the field at this offset; null where there is none. */
    UntetherLayout declaring(long offset, boolean isStatic) {
        for (UntetherLayout layout = this; layout != null; layout = isStatic ? null : layout.parent) {
            if (layout.indexOf(offset, isStatic) >= 0) {
                return layout;
            }
        }
        return null;
    }

    /** Whether what the field at this offset refers to is followed. */
    boolean isFollowed(long offset, boolean isStatic) {
        for (long candidate : isStatic ? followedStatics : followed) {
            if (candidate == offset) {
                return true;
            }
        }
        return false;
    }

    private int indexOf(long offset, boolean isStatic) {
        for (int i = 0; i < offsets.length; i++) {
            if (offsets[i] == offset && statics[i] == isStatic) {
                return i;
            }
        }
        return -1;
    }

    /** The offset of the named field as seen from this class, or -1. */
    long offsetOf(String name, char type, boolean isStatic) {
        for (UntetherLayout layout = this; layout != null; layout = layout.parent) {
            for (int i = 0; i < layout.names.length; i++) {
                if (layout.statics[i] == isStatic && layout.types[i] == type && layout.names[i].equals(name)) {
                    return layout.offsets[i];
                }
            }
        }
        return -1;
    }

    boolean declares(String name, char type) {
        for (int i = 0; i < names.length; i++) {
            if (statics[i] && types[i] == type && names[i].equals(name)) {
                return true;
            }
        }
        return false;
    }
}
