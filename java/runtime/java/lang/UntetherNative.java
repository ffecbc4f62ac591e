package java.lang;

/** What only the agent can do. The JVM finds the methods in the agent's library by their names. */
final class UntetherNative {
    private UntetherNative() {}

    /** Calls every method once: finding a native runs Java code, which must not happen inside a probe. */
    static void bind() {
        emit(new byte[0], 0);
        captureStack();
        liveThreads();
        fields(Object.class, new int[1][]);
        field(0, false);
        staticOwner(0);
        staticLoader(0);
        initializerClass(0);
        isPrepared(Object.class);
        stackBounds(new long[2]);
        isRegistry("");
        isLookup("");
        yieldProcessor();
        classCount();
        acts(0);
        newStretch();
        thingNumber("");
    }

    /** Appends whole frames to this JVM's trace. */
    static native void emit(byte[] frames, int length);

    /** The number of the calling thread's stack, without the runtime's own frames. */
    static native int captureStack();

    static native Class<?>[] initializedClasses();

    static native Thread[] liveThreads();

    /**
     * The names of the fields that a class declares. The first element of {@code facts} becomes an array: 1 or 0 for whether
     * the class is opaque, then of each field what {@code UntetherFacts} lists.
     */
    static native String[] fields(Class<?> declaring, int[][] facts);

    /** Owner (as in {@code Class.forName}), name and descriptor of a numbered field. */
    static native String[] field(int number, boolean isStatic);

    /** The class that a numbered static field's reference names, where it is loaded. */
    static native Class<?> staticOwner(int number);

    /** The loader of the class that holds the reference. */
    static native ClassLoader staticLoader(int number);

    /** Whether the class shows its fields. */
    static native boolean isPrepared(Class<?> type);

    /** The class whose initializer has this number. */
    static native Class<?> initializerClass(int number);

    /** Lowest and highest address of the calling thread's stack. */
    static native void stackBounds(long[] lowAndHigh);

    /** Whether the last write of a slot is told, and not the first. */
    static native boolean isThorough();

    /** Whether reads and writes are told; where they are not, all that matters is that changes can be put back. */
    static native boolean isTelling();

    /** Whether initializers and tests add alike to the collection that the field, with its class, leads to. */
    static native boolean isRegistry(String field);

    /** Whether who searches the field's collection only finds what is its own. */
    static native boolean isLookup(String field);

    /** After what everything is put back: 0 nothing, 1 each class, 2 each test. */
    static native int isolation();

    /** Whether this run is to tell which classes are used, and nothing else. */
    static native boolean watchesUses();

    /** Whether uses of classes are those of tests, and not of whole test classes. */
    static native boolean isByTest();

    /** The number of the class of that name, whoever defines it; 0 where there is none left. */
    static native int classNumber(String name);

    /** The highest number of a class. */
    static native int classCount();

    /** Which of these test classes may be left out; null where nobody answers. */
    static native String[] ask(String[] classes);

    /** Tells who acts from now on to what happens outside of the heap. */
    static native void acts(int actor);

    /** What was told of files is told again from now on: a class initializer begins or ends. */
    static native void newStretch();

    /** The number of something that is used like a class, by a name that no class can have; 0 where there is none. */
    static native int thingNumber(String name);

    /** Files are to be found as they are now, once more; so many such points are remembered. */
    static native void saveFiles(int saves);

    /** Puts back what was changed since the last of so many points; says what cannot be, else null. */
    static native String putBackFiles(int saves);

    /** Lets other threads of the system go first. */
    static native void yieldProcessor();
}
