package java.lang;

import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Who is acting: a test, a class fixture, a class initializer, or nobody in particular; and what the
 * current one has read and written.
 *
 * <p>A segment is one uninterrupted stretch of one test's or fixture's work. A slot's first read and
 * first write in it are all that count. What was written is judged when the segment ends: a slot that
 * shows its old value again was not written.
 */
final class UntetherActors {
    static final int CLASS = UntetherFrames.ACTOR_KIND_CLASS;
    static final int TEST = UntetherFrames.ACTOR_KIND_TEST;
    static final int INITIALIZER = UntetherFrames.ACTOR_KIND_INITIALIZER;
    static final int OUTSIDE = UntetherFrames.ACTOR_KIND_OUTSIDE;

    private static byte[] kinds = new byte[1024];
    private static int[] parents = new int[1024];
    private static boolean[] tainted = new boolean[1024];
    private static boolean[] running = new boolean[1024];

    /** Of class initializers, their numbers. */
    private static int[] numbers = new int[1024];

    private static String[] names = new String[1024];
    private static int last;

    private static int current;
    private static int segment;
    private static int classRun;

    private static UntetherSlot[] written = new UntetherSlot[256];
    private static int writtenCount;

    private static UntetherSlot[] classWritten = new UntetherSlot[256];
    private static int classWrittenCount;

    /** Whether every write is looked at, so that the last one's stack is told. */
    static boolean isThorough;

    /** Whether reads and writes are told, or changes are only put back. */
    static boolean isTelling;

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
        names[number] = kind == TEST ? null : name;
        UntetherFrames.actor(number, kind, parent, name, detail);
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
        int[] moreNumbers = new int[length];
        System.arraycopy(numbers, 0, moreNumbers, 0, numbers.length);
        numbers = moreNumbers;
        String[] moreNames = new String[length];
        System.arraycopy(names, 0, moreNames, 0, names.length);
        kinds = moreKinds;
        names = moreNames;
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
        try {
            for (Thread thread : newThreads) {
                UntetherSharing.root(thread, "ThreadLocal", current);
            }
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        }
        current = actor;
        segment++;
        nextEpoch();
    }

    /** What was written between classes is no class's to put back. Call with the lock held. */
    static void startClassRun() {
        forgetClassWritten();
        classRun++;
    }

    private static void forgetClassWritten() {
        for (int i = 0; i < classWrittenCount; i++) {
            classWritten[i].classOldSaved = null;
            classWritten[i] = null;
        }
        classWrittenCount = 0;
    }

    /** A class that leaves a slot as it found it was not its writer, whatever its tests did meanwhile. */
    static void endClassRun() {
        for (int i = 0; i < classWrittenCount; i++) {
            UntetherSlot slot = classWritten[i];
            Object object = slot.owner.get();
            if (object != null && slot.writer != slot.classOldWriter
                    && UntetherValues.isUnchanged(object, slot, slot.classOldSaved, slot.classOldBits)) {
                slot.restoreWriters();
                UntetherTrace.restored(slot, slot.writer);
            }
        }
        forgetClassWritten();
        classRun++;
    }

    /** What was remembered for the old epoch counts no longer. Call with the lock held. */
    static void nextEpoch() {
        UntetherShadow.clearCacheOnWrap(Untether.epoch + 1);
        Untether.epoch++;
    }

    // ---- accesses

    static void read(UntetherSlot slot) {
        if (UntetherUndo.window != 0 && initializers != null && kinds[actorOfThread()] == INITIALIZER) {
            UntetherUndo.readByInitializer(slot, actorOfThread());
        }
        if (!isTelling) {
            return;
        }
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
        tellRead(slot, actor, writer, isPending ? slot.writeStack : 0);
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

    /** The same of cells of a chunk: those that the test wrote itself, or that were told of, are left out. */
    static void read(UntetherChunk chunk, long cells) {
        if (!isTelling) {
            read((UntetherSlot) chunk);
            chunk.read = -1L;
            return;
        }
        if (UntetherUndo.window != 0 && initializers != null && kinds[actorOfThread()] == INITIALIZER) {
            UntetherUndo.readByInitializer(chunk, actorOfThread());
        }
        int actor = actorOfThread();
        boolean isPending = chunk.writeSegment == segment;
        boolean isOwn = isPending && chunk.pendingWriter == actor;
        if (chunk.readSegment != segment || chunk.readActor != actor) {
            chunk.readSegment = segment;
            chunk.readActor = actor;
            chunk.read = 0;
        }
        long open = cells & ~chunk.read & ~(isOwn ? chunk.written : 0);
        if (open == 0 || chunk.owner.get() == null) {
            return;
        }
        chunk.read |= open;
        long pending = isPending && !isOwn ? open & chunk.written : 0;
        if (pending != 0) {
            tellRead(chunk, actor, chunk.pendingWriter, chunk.writeStack);
        }
        tellWriters(chunk, actor, open & ~pending);
        if (chunk.writers == null && (isOwn || !isPending)) {
            // All others are the same writer's.
            chunk.read = -1L;
        }
    }

    private static void tellWriters(UntetherChunk chunk, int actor, long cells) {
        int told = -1;
        for (long left = cells; left != 0; left &= left - 1) {
            int writer = chunk.writerOf(Long.numberOfTrailingZeros(left));
            if (writer != told) {
                tellRead(chunk, actor, writer, 0);
                told = writer;
            }
            if (chunk.writers == null) {
                return;
            }
        }
    }

    private static void tellRead(UntetherSlot slot, int actor, int writer, int pendingStack) {
        int stack = 0;
        if (isForeign(writer, actor)) {
            stack = readStack(slot.owner, actor);
            if (kinds[actor] == INITIALIZER) {
                tainted[actor] = true;
            }
        }
        UntetherTrace.read(actor, slot, writer, stack, pendingStack, slot.readEmpty);
    }

    static void write(UntetherSlot slot) {
        write(slot, 0);
    }

    static void write(UntetherSlot slot, long cells) {
        int actor = actorOfThread();
        boolean isFirst = slot.writeSegment != segment;
        if (!isFirst && slot.pendingWriter == actor) {
            slot.wrote(cells, false);
            if (isThorough) {
                slot.writeStack = UntetherNative.captureStack();
            }
            return;
        }
        Object object = slot.owner.get();
        if (object == null) {
            return;
        }
        if (!isFirst) {
            // An initializer ran within this segment, or this is one: what was there before it began counts.
            settle(slot);
            nextEpoch();
        }
        if (UntetherUndo.window != 0 && (kinds[actor] != INITIALIZER || isForNow(slot, actor))) {
            UntetherUndo.note(slot, object);
        } else if (UntetherUndo.window != 0) {
            UntetherUndo.noteInitializer(slot);
        }
        Object saved = UntetherValues.saved(object, slot);
        long bits = UntetherValues.bits(object, slot);
        int stack = kinds[actor] == OUTSIDE || !isTelling ? 0 : writeStack(slot.owner, actor);
        slot.wrote(cells, true);
        if (isFirst) {
            noteWritten(slot);
            slot.writeSegment = segment;
            slot.isLazy = slot.readSegment == segment && slot.readActor == actor && slot.readEmpty;
        }
        if (slot.classRun != classRun && kinds[actor] != INITIALIZER && isTelling) {
            noteClassWritten(slot);
            slot.classRun = classRun;
            slot.noteWriters();
            slot.classOldSaved = saved;
            slot.classOldBits = bits;
        }
        slot.oldSaved = saved;
        slot.oldBits = bits;
        slot.writeStack = stack;
        slot.pendingWriter = actor;
    }

    /**
     * Whether what an initializer writes here is put back: where nothing comes after it, or where it is that of the running
     * test class, which will not run again.
     */
    private static boolean isForNow(UntetherSlot slot, int initializer) {
        if (isNobodys(slot, initializer)) {
            return false;
        }
        return UntetherUndo.isCold || UntetherUndo.isolation != 0 && kinds[responsible(slot, initializer)] == CLASS
                && names[responsible(slot, initializer)].equals(names[initializer]);
    }

    /** A buffer is mostly filled from one place: its first write in a segment stands for all, unless every one is wanted. */
    private static int writeStack(UntetherObject object, int actor) {
        if (!object.isBuffer || isThorough) {
            return UntetherNative.captureStack();
        }
        if (object.writeStackSegment != segment || object.writeStackActor != actor) {
            object.writeStackSegment = segment;
            object.writeStackActor = actor;
            object.writeStack = UntetherNative.captureStack();
        }
        return object.writeStack;
    }

    private static void noteWritten(UntetherSlot slot) {
        if (writtenCount == written.length) {
            written = twiceAsLong(written);
        }
        written[writtenCount++] = slot;
    }

    private static void noteClassWritten(UntetherSlot slot) {
        if (classWrittenCount == classWritten.length) {
            classWritten = twiceAsLong(classWritten);
        }
        classWritten[classWrittenCount++] = slot;
    }

    private static UntetherSlot[] twiceAsLong(UntetherSlot[] slots) {
        UntetherSlot[] larger = new UntetherSlot[slots.length * 2];
        System.arraycopy(slots, 0, larger, 0, slots.length);
        return larger;
    }

    /** Judges the segment's writes and registers what they made reachable. What fails costs one of them, and no later segment. */
    private static void settle() {
        int count = writtenCount;
        writtenCount = 0;
        for (int i = 0; i < count; i++) {
            UntetherSlot slot = written[i];
            written[i] = null;
            try {
                settle(slot);
            } catch (Throwable fault) {
                UntetherFaults.caught(fault);
            }
            slot.oldSaved = null;
        }
    }

    /** A holder that was collected meanwhile can have no readers. */
    private static void settle(UntetherSlot slot) {
        Object object = slot.owner.get();
        if (object == null || UntetherValues.isPlumbing(object, slot)) {
            return;
        }
        if (!UntetherValues.isUnchanged(object, slot, slot.oldSaved, slot.oldBits)) {
            int before = slot.writer;
            slot.writer = responsible(slot, slot.pendingWriter);
            slot.tookOver(object, before);
            int flags = slot.isLazy ? UntetherTrace.LAZY : 0;
            if (slot.writer != slot.pendingWriter) {
                flags |= UntetherTrace.BY_INITIALIZER;
                if (!isForNow(slot, slot.pendingWriter)) {
                    UntetherUndo.writtenByInitializer(slot, slot.pendingWriter);
                }
            }
            UntetherTrace.write(slot.writer, slot, slot.writeStack, flags);
            UntetherSharing.written(slot, object);
        } else if (isUnit(slot.pendingWriter) && slot.isOfAnother(slot.pendingWriter)) {
            // It left what another test had left as well: in another order that would be its doing.
            UntetherTrace.write(slot.pendingWriter, slot, slot.writeStack, UntetherTrace.UNCHANGED);
        }
    }

    static boolean isUnit(int actor) {
        return kinds[actor] == TEST || kinds[actor] == CLASS;
    }

    static boolean isInitializer(int actor) {
        return kinds[actor] == INITIALIZER;
    }

    /**
     * Whose doing the slot's new value is. What an initializer writes outside of its own class is that of whoever
     * triggered it, and of a test class's own initializer that of the class's fixtures; the JDK's initializers come to
     * the same whoever triggers them.
     */
    private static int responsible(UntetherSlot slot, int writer) {
        if (kinds[writer] != INITIALIZER || isNobodys(slot, writer)) {
            return writer;
        }
        int at = parents[writer];
        while (kinds[at] == INITIALIZER) {
            at = parents[at];
        }
        for (int owner = at; owner != 0; owner = parents[owner]) {
            if (kinds[owner] == CLASS && names[owner].equals(names[writer])) {
                return owner;
            }
        }
        return isUnit(at) ? at : writer;
    }

    /** Whether the slot is a static field of the class that the initializer is about, or that is one of the JDK's. */
    private static boolean isNobodys(UntetherSlot slot, int initializer) {
        boolean isOwn = slot.owner.isMirror && slot.owner.writer == initializer;
        return isOwn || UntetherLayout.isOfJdk(names[initializer]);
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

    /** Whether what is recorded may be remembered for the epoch: only while one actor acts on all threads. */
    static boolean ownsEpoch() {
        return initializers == null;
    }

    /** The class whose initializer it is. */
    static Class<?> initializerType(int actor) {
        return UntetherNative.initializerClass(numbers[actor]);
    }

    static boolean isTainted(int actor) {
        return tainted[actor];
    }

    static boolean isInitializing(int actor) {
        return running[actor];
    }

    @ReservedStackAccess
    static void initializerEnter(int number) {
        Class<?> type = UntetherNative.initializerClass(number);
        if (type == null || !UntetherLock.enter()) {
            return;
        }
        try {
            int actor = create(INITIALIZER, actorOfThread(), type.getName(), "");
            running[actor] = true;
            numbers[actor] = number;
            UntetherShadow.mirror(type, actor).writer = actor;
            initializers = new Initializer(Thread.currentThread(), number, actor, initializers);
            Untether.initializing = 1;
            nextEpoch();
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
        } finally {
            UntetherLock.exit();
        }
    }

    /** What an initializer made is shared at once: the test that runs on may change it. */
    @ReservedStackAccess
    static void initializerExit(int number) {
        Class<?> type = UntetherNative.initializerClass(number);
        if (type == null || !UntetherLock.enterForced()) {
            return;
        }
        try {
            int actor = remove(Thread.currentThread(), number);
            running[actor] = false;
            Untether.initializing = initializers == null ? 0 : 1;
            UntetherSharing.statics(type, actor);
            nextEpoch();
        } catch (Throwable fault) {
            UntetherFaults.caught(fault);
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
