package java.lang;

import java.util.HashSet;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Which classes the running test class uses, where a run wants to know that and nothing of the heap.
 *
 * <p>Woven code sets a byte of {@link #USED}. Whenever somebody else begins to act, the bytes are swept up: they are those of
 * whoever acted until then, and of the class initializers that were running.
 */
public final class UntetherUses {
    /** One byte for each numbered class; the length is mirrored in the crate untether-weave, module probe. */
    public static final byte[] USED = new byte[1 << 17];

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Where the first element is. (What Unsafe says of it has another type in each JDK.) */
    private static final long FIRST = first();

    /** The bytes are swept up eight at a time, from the first multiple of eight on: lower numbers are no class's. */
    private static final long BASE = (FIRST + 7) & ~7L;

    private static final int SHIFT = (int) (BASE - FIRST);

    private static final String CLASS_FILE = ".class";

    /** What woven code sets, and what is there of a class that was only looked at. */
    private static final byte RUN = 1;
    private static final byte LOOKED_AT = 2;

    /** Where {@code System} keeps its properties, which programs may replace. */
    private static final long PROPERTIES = offsetOf(System.class, "props");

    /** Numbers in a frame. */
    private static final int MASK = 64;

    static boolean isOn;

    /** Numbers of classes that reflection handed out; 0 for those that do not count. */
    private static final ClassValue<Integer> NUMBERS = new ClassValue<>() {
        @Override
        protected Integer computeValue(Class<?> type) {
            return UntetherNative.classNumber(type.getName());
        }
    };

    /** A running class initializer, and what was used meanwhile: eight classes in each number. */
    private static final class Initializer {
        final Thread thread;
        final int number;
        final Initializer below;
        long[] used = new long[16];
        HashSet<String> absent = new HashSet<>();
        boolean hasSeenLines;

        Initializer(Thread thread, int number, Initializer below) {
            this.thread = thread;
            this.number = number;
            this.below = below;
        }

        Initializer(Initializer other, Initializer below) {
            this(other.thread, other.number, below);
            used = other.used;
            absent = other.absent;
            hasSeenLines = other.hasSeenLines;
        }
    }

    private static Initializer initializers;
    private static long[] used = new long[1024];
    private static HashSet<String> absent = new HashSet<>();
    private static final java.util.HashMap<String, Integer> things = new java.util.HashMap<>();
    private static volatile Thread looking;
    private static boolean hasSeenLines;
    private static int outside;
    private static int current;
    private static Thread[] threadsBefore = {};

    private UntetherUses() {}

    private static long offsetOf(Class<?> type, String field) {
        try {
            return U.staticFieldOffset(type.getDeclaredField(field));
        } catch (NoSuchFieldException missing) {
            return 0;
        }
    }

    private static boolean isOfSystem(Object table) {
        return PROPERTIES != 0 && U.getReference(System.class, PROPERTIES) == table;
    }

    private static long first() {
        for (long at = 8; at < 32; at++) {
            USED[0] = 0x5a;
            boolean isThere = U.getByte(USED, at) == 0x5a;
            USED[0] = 0x25;
            isThere &= U.getByte(USED, at) == 0x25;
            USED[0] = 0;
            if (isThere) {
                return at;
            }
        }
        throw new InternalError();
    }

    // ---- what woven code calls

    @Hidden
    @ReservedStackAccess
    public static void enter(int number) {
        if (!isOn || !UntetherLock.enterForced()) {
            return;
        }
        try {
            sweep();
            UntetherNative.newStretch();
            initializers = new Initializer(Thread.currentThread(), number, initializers);
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    @Hidden
    @ReservedStackAccess
    public static void exit(int number) {
        if (!isOn || !UntetherLock.enterForced()) {
            return;
        }
        try {
            sweep();
            UntetherNative.newStretch();
            Initializer ended = remove(Thread.currentThread(), number);
            if (ended != null) {
                tell(ended.used, 0, number);
                for (String name : ended.absent) {
                    UntetherFrames.absent(0, number, name);
                }
                if (ended.hasSeenLines) {
                    UntetherFrames.linesSeen(0, number);
                }
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    /** Something is asked of a class, which need not run anything of it. */
    @Hidden
    public static void asked(Object type) {
        if (isOn && type != null) {
            use((Class<?>) type);
        }
    }

    /**
     * A class was looked for: by a loader of the JDK's, with its name, or without both. Loaders are asked by the JVM as well,
     * which looks at classes that nobody uses; who uses a loader tells what it got.
     */
    @Hidden
    public static void sought(Object found, Object loader, Object name) {
        if (!isOn) {
            return;
        }
        if (found != null && loader == null) {
            use((Class<?>) found);
        } else if (found == null && loader != null && loader == ClassLoader.getSystemClassLoader()) {
            note((String) name);
        }
    }

    /** It may not be there, and then counts as absent. */
    private static void note(String name) {
        if (!UntetherLock.enter()) {
            return;
        }
        try {
            absent.add(name);
            for (Initializer each = initializers; each != null; each = each.below) {
                each.absent.add(name);
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    /** A resource is asked for. Who asks for a class file reads the class without loading it. */
    @Hidden
    public static void resource(Object name) {
        if (!isOn || !(name instanceof String) || !((String) name).endsWith(CLASS_FILE) || Thread.currentThread() == looking) {
            return;
        }
        String path = (String) name;
        String type = path.substring(0, path.length() - CLASS_FILE.length()).replace('/', '.');
        int number = UntetherNative.classNumber(type);
        if (number > 0 && USED[number] == 0) {
            USED[number] = LOOKED_AT;
        }
        note(type);
    }

    /** A property is asked for; all of them where the name is null. */
    @Hidden
    public static void property(Object table, Object name) {
        if (isOn && isOfSystem(table)) {
            used("property:", name);
        }
    }

    /** A variable of the environment is asked for; all of them where the name is null. */
    @Hidden
    public static void variable(Object table, Object name) {
        if (isOn) {
            used("env:", name);
        }
    }

    private static void used(String kind, Object name) {
        if (name != null && !(name instanceof String) || Thread.currentThread() == looking || !UntetherLock.enter()) {
            return;
        }
        try {
            String thing = kind.concat(name == null ? "*" : (String) name);
            Integer number = things.get(thing);
            if (number == null) {
                number = UntetherNative.thingNumber(thing);
                things.put(thing, number);
            }
            if (number > 0) {
                USED[number] = RUN;
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    /** What this thread asks for until it says otherwise is nobody's. */
    static void look(boolean isLooking) {
        looking = isLooking ? Thread.currentThread() : null;
    }

    @Hidden
    public static void linesSeen() {
        if (!isOn || UntetherLock.isInside()) {
            return;
        }
        hasSeenLines = true;
        if (initializers != null && UntetherLock.enter()) {
            try {
                for (Initializer each = initializers; each != null; each = each.below) {
                    each.hasSeenLines = true;
                }
            } finally {
                UntetherLock.exit();
            }
        }
    }

    private static void use(Class<?> type) {
        Class<?> element = type;
        while (element.isArray()) {
            element = element.getComponentType();
        }
        // The JDK's identity stands for its classes; hidden ones are parts of others, which are used when they are.
        if (element.getClassLoader0() == null || element.isHidden() || UntetherLock.isInside()) {
            return;
        }
        int number = NUMBERS.get(element);
        if (number > 0 && USED[number] == 0) {
            USED[number] = LOOKED_AT;
        }
    }

    // ---- who acts

    /** Called once, before the first test class starts: what was used until now is nobody's in particular. */
    static void start(int nobody) {
        outside = nobody;
        current = nobody;
        threadsBefore = UntetherNative.liveThreads();
        isOn = true;
    }

    /** What is used from now on is that of the actor. Call with the lock held. */
    static void switchTo(int actor) {
        if (actor == current) {
            return;
        }
        flush();
        current = actor;
    }

    static int current() {
        return current;
    }

    /** Tells all that the current actor has used. Call with the lock held. */
    static void flush() {
        sweep();
        tell(used, current, 0);
        used = new long[used.length];
        for (String name : absent) {
            UntetherFrames.absent(current, 0, name);
        }
        absent = new HashSet<>();
        if (hasSeenLines) {
            hasSeenLines = false;
            UntetherFrames.linesSeen(current, 0);
        }
    }

    /**
     * The names of classes whose methods run on threads that were started meanwhile and go on: nothing will tell that they are
     * used by whoever comes next.
     */
    static HashSet<String> lingering() {
        HashSet<String> names = new HashSet<>();
        for (Thread thread : UntetherNative.liveThreads()) {
            if (thread == Thread.currentThread() || wasThere(thread)) {
                continue;
            }
            for (StackTraceElement frame : thread.getStackTrace()) {
                if (frame.getClassLoaderName() != null) {
                    names.add(frame.getClassName());
                }
            }
        }
        return names;
    }

    private static boolean wasThere(Thread thread) {
        for (Thread known : threadsBefore) {
            if (known == thread) {
                return true;
            }
        }
        return false;
    }

    /** Counts them as used by nobody in particular, which is everybody. Call with the lock held. */
    static void keep(HashSet<String> names) {
        for (String name : names) {
            int number = UntetherNative.classNumber(name);
            if (number > 0) {
                UntetherFrames.uses(outside, number, 1);
            }
        }
    }

    // ---- sweeping

    /** A byte that is set meanwhile stays for the next time. */
    private static void sweep() {
        int words = (UntetherNative.classCount() >> 3) + 1;
        if (used.length < words) {
            used = grown(used, words);
        }
        for (int word = 0; word < words; word++) {
            long at = BASE + ((long) word << 3);
            if (U.getLong(USED, at) != 0) {
                long marks = U.getAndSetLong(USED, at, 0);
                used[word] |= marks;
                for (Initializer each = initializers; each != null; each = each.below) {
                    if (each.used.length <= word) {
                        each.used = grown(each.used, word + 1);
                    }
                    each.used[word] |= marks;
                }
            }
        }
    }

    private static long[] grown(long[] words, int needed) {
        long[] larger = new long[Math.max(words.length * 2, needed)];
        System.arraycopy(words, 0, larger, 0, words.length);
        return larger;
    }

    /** As an actor's, or as those of an initializer. */
    private static void tell(long[] words, int actor, int initializer) {
        int length = words.length;
        for (int first = 0; first < length; first += MASK / 8) {
            long run = 0;
            long lookedAt = 0;
            for (int word = first; word < Math.min(first + MASK / 8, length); word++) {
                run |= bits(words[word], RUN) << ((word - first) * 8);
                lookedAt |= bits(words[word], LOOKED_AT) << ((word - first) * 8);
            }
            if (actor == outside && initializer == 0 && (lookedAt & ~run) != 0) {
                // Who looks for tests looks at all of them.
                UntetherFrames.lookedAt(first * 8 + SHIFT, lookedAt & ~run);
                lookedAt = 0;
            }
            long mask = run | lookedAt;
            if (mask != 0 && initializer == 0) {
                UntetherFrames.uses(actor, first * 8 + SHIFT, mask);
            } else if (mask != 0) {
                UntetherFrames.initializerUses(initializer, first * 8 + SHIFT, mask);
            }
        }
    }

    /** One bit for each byte that has the flag, the byte of the lowest address first. */
    private static long bits(long bytes, byte flag) {
        long bits = 0;
        for (int i = 0; bytes != 0 && i < 8; i++) {
            int shift = U.isBigEndian() ? 56 - 8 * i : 8 * i;
            if ((bytes >>> shift & flag) != 0) {
                bits |= 1L << i;
            }
        }
        return bits;
    }

    private static Initializer remove(Thread thread, int number) {
        Initializer kept = null;
        Initializer found = null;
        for (Initializer at = initializers; at != null; at = at.below) {
            if (found == null && at.thread == thread && at.number == number) {
                found = at;
            } else {
                kept = new Initializer(at, kept);
            }
        }
        initializers = null;
        for (Initializer at = kept; at != null; at = at.below) {
            initializers = new Initializer(at, initializers);
        }
        return found;
    }
}
