package java.lang;

/**
 * Who is acting: a test, a class fixture, a class initializer, or nobody in particular; and what the
 * current one has read and written.
 *
 * <p>A segment is one uninterrupted stretch of one test's or fixture's work. A slot's first read and
 * first write in it are all that count. What was written is judged when the segment ends: a slot that
 * shows its old value again was not written.
 */
final class UntetherActors {
    static final int CLASS = 1;
    static final int TEST = 2;
    static final int INITIALIZER = 3;
    static final int OUTSIDE = 4;

    private static byte[] kinds = new byte[1024];
    private static int[] parents = new int[1024];
    private static boolean[] tainted = new boolean[1024];
    private static boolean[] running = new boolean[1024];
    private static int last;

    private static int current;
    private static int segment;
    private static int classRun;

    private static UntetherSlot[] written = new UntetherSlot[256];
    private static Object[] writtenIn = new Object[256];
    private static int writtenCount;

    private static UntetherSlot[] classWritten = new UntetherSlot[256];
    private static Object[] classWrittenIn = new Object[256];
    private static int classWrittenCount;

    /** Set when a thread was started: its thread-locals become a root when the segment ends. */
    static boolean hasNewThreads;

    /** A running class initializer. */
    private static final class Initializer {
        final Thread thread;
        final int number;
        final int actor;
        final Initializer below;

        Initializer(Thread thread, int number, int actor, Initializer below) {
            this.thread = thread;
            this.number = number;
            this.actor = actor;
            this.below = below;
        }
    }

    private static Initializer initializers;

    private UntetherActors() {}

    /** Starts tracking: what is there now is nobody's. Call with the lock held. */
    static void activate(Class<?>[] classes, Thread[] threads) {
        current = create(OUTSIDE, 0, "", "");
        segment = 1;
        UntetherSharing.shareAll(classes, threads);
        Untether.epoch = 1;
    }

    static int create(int kind, int parent, String name, String detail) {
        int number = ++last;
        if (number == kinds.length) {
            grow();
        }
        kinds[number] = (byte) kind;
        parents[number] = parent;
        UntetherTrace.actor(number, kind, parent, name, detail);
        return number;
    }

    private static void grow() {
        int length = kinds.length * 2;
        byte[] moreKinds = new byte[length];
        System.arraycopy(kinds, 0, moreKinds, 0, kinds.length);
        int[] moreParents = new int[length];
        System.arraycopy(parents, 0, moreParents, 0, parents.length);
        boolean[] moreTainted = new boolean[length];
        System.arraycopy(tainted, 0, moreTainted, 0, tainted.length);
        boolean[] moreRunning = new boolean[length];
        System.arraycopy(running, 0, moreRunning, 0, running.length);
        kinds = moreKinds;
        parents = moreParents;
        tainted = moreTainted;
        running = moreRunning;
    }

    static int current() {
        return current;
    }

    /** Ends the current segment and begins one of {@code actor}. Call with the lock held. */
    static void switchTo(int actor, Thread[] newThreads) {
        settle();
        for (Thread thread : newThreads) {
            UntetherSharing.root(thread, "ThreadLocal", current);
        }
        current = actor;
        segment++;
        nextEpoch();
    }

    static void startClassRun() {
        classRun++;
    }

    /** A class that leaves a slot as it found it was not its writer, whatever its tests did meanwhile. */
    static void endClassRun() {
        for (int i = 0; i < classWrittenCount; i++) {
            UntetherSlot slot = classWritten[i];
            Object object = classWrittenIn[i];
            if (slot.writer != slot.classOldWriter
                    && UntetherValues.isUnchanged(object, slot, slot.classOldReference, slot.classOldBits)) {
                slot.writer = slot.classOldWriter;
                UntetherTrace.restored(slot, slot.writer);
            }
            slot.classOldReference = null;
            classWritten[i] = null;
            classWrittenIn[i] = null;
        }
        classWrittenCount = 0;
        classRun++;
    }

    private static void nextEpoch() {
        UntetherShadow.clearCacheOnWrap(Untether.epoch + 1);
        Untether.epoch++;
    }

    // ---- accesses

    static void read(UntetherSlot slot) {
        int actor = actorOfThread();
        boolean isPending = slot.writeSegment == segment;
        int writer = isPending ? slot.pendingWriter : slot.writer;
        if (isPending && writer == actor || slot.readSegment == segment && slot.readActor == actor) {
            return;
        }
        Object object = slot.owner.get();
        if (object == null || UntetherValues.isPlumbing(object, slot)) {
            return;
        }
        slot.readSegment = segment;
        slot.readActor = actor;
        slot.readEmpty = UntetherValues.isEmpty(object, slot);
        int stack = 0;
        if (isForeign(writer, actor)) {
            stack = readStack(slot.owner, actor);
            if (kinds[actor] == INITIALIZER) {
                tainted[actor] = true;
            }
        }
        UntetherTrace.read(actor, slot, writer, stack, isPending ? slot.writeStack : 0);
    }

    /** Fields of one object are mostly read together: its first read in a segment stands for all. */
    private static int readStack(UntetherObject object, int actor) {
        if (object.stackSegment != segment || object.stackActor != actor || object.isMirror) {
            object.stackSegment = segment;
            object.stackActor = actor;
            object.readStack = UntetherNative.captureStack();
        }
        return object.readStack;
    }

    static void write(UntetherSlot slot) {
        int actor = actorOfThread();
        boolean isFirst = slot.writeSegment != segment;
        if (!isFirst && slot.pendingWriter == actor) {
            return;
        }
        Object object = slot.owner.get();
        if (object == null) {
            return;
        }
        if (isFirst) {
            slot.writeSegment = segment;
            slot.isLazy = slot.readSegment == segment && slot.readActor == actor && slot.readEmpty;
            noteWritten(slot, object);
        } else {
            // An initializer ran within this segment, or this is one: what was there before it began counts.
            settle(slot, object);
        }
        slot.oldReference = UntetherValues.reference(object, slot);
        slot.oldBits = UntetherValues.bits(object, slot);
        if (slot.classRun != classRun && kinds[actor] != INITIALIZER) {
            slot.classRun = classRun;
            slot.classOldWriter = slot.writer;
            slot.classOldReference = slot.oldReference;
            slot.classOldBits = slot.oldBits;
            noteClassWritten(slot, object);
        }
        slot.pendingWriter = actor;
        slot.writeStack = kinds[actor] == OUTSIDE ? 0 : UntetherNative.captureStack();
    }

    private static void noteWritten(UntetherSlot slot, Object object) {
        if (writtenCount == written.length) {
            UntetherSlot[] slots = new UntetherSlot[writtenCount * 2];
            System.arraycopy(written, 0, slots, 0, writtenCount);
            Object[] objects = new Object[writtenCount * 2];
            System.arraycopy(writtenIn, 0, objects, 0, writtenCount);
            written = slots;
            writtenIn = objects;
        }
        written[writtenCount] = slot;
        writtenIn[writtenCount++] = object;
    }

    private static void noteClassWritten(UntetherSlot slot, Object object) {
        if (classWrittenCount == classWritten.length) {
            UntetherSlot[] slots = new UntetherSlot[classWrittenCount * 2];
            System.arraycopy(classWritten, 0, slots, 0, classWrittenCount);
            Object[] objects = new Object[classWrittenCount * 2];
            System.arraycopy(classWrittenIn, 0, objects, 0, classWrittenCount);
            classWritten = slots;
            classWrittenIn = objects;
        }
        classWritten[classWrittenCount] = slot;
        classWrittenIn[classWrittenCount++] = object;
    }

    /** Judges the segment's writes and registers what they made reachable. */
    private static void settle() {
        for (int i = 0; i < writtenCount; i++) {
            UntetherSlot slot = written[i];
            Object object = writtenIn[i];
            settle(slot, object);
            slot.oldReference = null;
            written[i] = null;
            writtenIn[i] = null;
        }
        writtenCount = 0;
    }

    private static void settle(UntetherSlot slot, Object object) {
        if (!UntetherValues.isUnchanged(object, slot, slot.oldReference, slot.oldBits)
                && !UntetherValues.isPlumbing(object, slot)) {
            slot.writer = slot.pendingWriter;
            UntetherTrace.write(slot.pendingWriter, slot, slot.writeStack, slot.isLazy);
            UntetherSharing.written(slot, object);
        }
    }

    /** Whether a value of {@code writer} is something that {@code actor} got from another. */
    private static boolean isForeign(int writer, int actor) {
        if (writer == 0 || writer == actor) {
            return false;
        }
        switch (kinds[writer]) {
            case OUTSIDE:
                return false;
            case INITIALIZER:
                return tainted[writer];
            case CLASS:
                for (int at = parents[actor]; at != 0; at = parents[at]) {
                    if (at == writer) {
                        return false;
                    }
                }
                return true;
            default:
                return true;
        }
    }

    // ---- class initializers

    private static int actorOfThread() {
        if (initializers != null) {
            Thread thread = Thread.currentThread();
            for (Initializer at = initializers; at != null; at = at.below) {
                if (at.thread == thread) {
                    return at.actor;
                }
            }
        }
        return current;
    }

    /** Whether what this thread records may be remembered for the epoch: no other actor shares it. */
    static boolean ownsEpoch() {
        Initializer top = initializers;
        return top == null || top.thread == Thread.currentThread();
    }

    static boolean isTainted(int actor) {
        return tainted[actor];
    }

    static boolean isInitializing(int actor) {
        return running[actor];
    }

    static void initializerEnter(int number) {
        Class<?> type = UntetherNative.initializerClass(number);
        if (type == null || !UntetherLock.enter()) {
            return;
        }
        try {
            int actor = create(INITIALIZER, actorOfThread(), type.getName(), "");
            running[actor] = true;
            UntetherShadow.mirror(type, actor).writer = actor;
            initializers = new Initializer(Thread.currentThread(), number, actor, initializers);
            nextEpoch();
        } finally {
            UntetherLock.exit();
        }
    }

    /** What an initializer made is shared at once: the test that runs on may change it. */
    static void initializerExit(int number) {
        Class<?> type = UntetherNative.initializerClass(number);
        if (type == null || !UntetherLock.enter()) {
            return;
        }
        try {
            int actor = remove(Thread.currentThread(), number);
            running[actor] = false;
            UntetherSharing.statics(type, actor);
            nextEpoch();
        } finally {
            UntetherLock.exit();
        }
    }

    /** The actor of the thread's initializer with this number; 0 where it began before tracking. */
    private static int remove(Thread thread, int number) {
        Initializer kept = null;
        int actor = 0;
        for (Initializer at = initializers; at != null; at = at.below) {
            if (actor == 0 && at.thread == thread && at.number == number) {
                actor = at.actor;
            } else {
                kept = new Initializer(at.thread, at.number, at.actor, kept);
            }
        }
        initializers = null;
        for (Initializer at = kept; at != null; at = at.below) {
            initializers = new Initializer(at.thread, at.number, at.actor, initializers);
        }
        return actor;
    }
}
