package java.lang;

import java.net.URL;
import java.security.CodeSource;
import jdk.internal.misc.Unsafe;

/**
 * Old values of shared slots, so that they can be put back: all of them, or those of some fields only.
 *
 * <p>Saves nest. Each has a log of what stood in a slot before its first write since then, held strongly: what the
 * program dropped meanwhile comes back with it. Writing a log back in reverse gives the world as it was, at a cost
 * that depends on what was changed and not on what there is.
 *
 * <p>What class initializers write stays: a class cannot be made uninitialised. One that read what was written since
 * the save would come out otherwise in a fresh JVM: then the JVM is not restorable, and says why. Threads that do not end
 * (pools, servers, timers) go on beside whatever comes next, with the objects that were made for them; what of it
 * matters shows when a trial is confirmed in a fresh JVM.
 */
final class UntetherUndo {
    private static final Unsafe U = Untether.U;
    private static final int DEEPEST = 8;

    /** For all of them together, in milliseconds. */
    private static final long LONGEST_WAIT = 200;

    /** For one that waits until it is woken, as a pool's threads do: nobody is left who will. */
    private static final long SHORTEST_WAIT = 5;

    private static final int MOST_LASTING = 500;

    /** Names the stretch since the last save or undo; 0 while nothing is saved. */
    static int window;

    private static int lastWindow;
    private static int depth;
    private static final int[] starts = new int[DEEPEST];
    private static final int[] windows = new int[DEEPEST];
    private static Thread[] threads = {};

    /** Threads that were started since the first save and did not end when they were waited for. */
    private static Thread[] lasting = {};

    private static int lastingCount;

    private static UntetherSlot[] slots = new UntetherSlot[1024];
    private static Object[] values = new Object[1024];
    private static long[] bits = new long[1024];
    private static int[] writers = new int[1024];
    private static int[][] cellWriters = new int[1024][];
    private static int count;
    private static Thread worker;

    private static String obstacle;

    /** After what everything is put back without being asked to: 0 nothing, {@link #CLASSES}, {@link #TESTS}. */
    static int isolation;

    private static final int CLASSES = 1;
    private static final int TESTS = 2;

    /** The class for which something was done before it began, while it has not begun. */
    private static String preparing;

    /** Why what the last class changed was not put back; null where it was. */
    private static String leftBehind;

    /** The last stretch in which an initializer wrote into a container. */
    private static int lastMixed;

    /** Whether the classes that tests need are initialised, so that the effects of initializers are part of the world. */
    private static boolean isWarm;

    /** Whether nothing comes after what is tried, so that what can happen only once may. */
    static boolean isCold;

    /** Commands that wait for the start of a test, and that test. */
    private static String[] dueTests = new String[16];
    private static String[] dueCommands = new String[16];
    private static int dueCount;

    /** The answer to the last "fields". */
    private static String told = "";

    private UntetherUndo() {}

    /**
     * Obeys the worker, on a thread that is suspended and between two segments.
     *
     * <p>{@code again N}: the world as it was when N saves had been made; makes the Nth where it is not there yet.
     * {@code revert FIELDS}, with a semicolon between: puts these fields back to the last save, {@code keep FIELDS}: all others. {@code fields}:
     * notes which fields differ from the last save, {@code told}: says them. {@code at TEST COMMAND}, with a tab
     * between: when that test starts. {@code warm}: what class initializers did until now, and threads that run, belong
     * to the world of the first save. {@code cold}: there is one trial only, so what initializers do elsewhere is put back
     * like the rest. {@code isolated}: whether what the last class changed was put back. The answer is empty where all went well, or the obstacle that makes this JVM not restorable.
     */
    static String obey(String command) {
        String rest = command.substring(command.indexOf(' ') + 1);
        if (command.startsWith("again ")) {
            dueCount = 0;
            waitForThreads();
            again(Integer.parseInt(rest));
            return obstacle != null ? obstacle : exhaustion();
        }
        if (command.equals("warm")) {
            again(1);
            threads = UntetherNative.liveThreads();
            obstacle = null;
            isWarm = true;
            return "";
        }
        if (command.equals("cold")) {
            isCold = true;
            return "";
        }
        if (command.startsWith("at ")) {
            due(rest.substring(0, rest.indexOf('\t')), rest.substring(rest.indexOf('\t') + 1));
            return "";
        }
        if (command.equals("isolated")) {
            if (preparing != null) {
                // It never began, and no other one will.
                String name = preparing;
                preparing = null;
                classEnded(name);
            }
            return leftBehind == null ? exhaustion() : leftBehind;
        }
        return command.equals("told") ? told : inner(command, rest);
    }

    // ---- isolation: at the boundaries of classes and tests, as the frameworks report them

    /**
     * A class, or one inside of so many others, begins. What was changed between classes is the framework's and stays. Members
     * of a suite find what the suite's own fixtures did, and nested classes what those of the class around them did where
     * tests are isolated.
     */
    static void classStarted(String name, int levels, boolean isNested) {
        if (isolation == 0) {
            return;
        }
        if (levels > 0) {
            if (!isNested || isolation == TESTS && depth > levels) {
                again(levels + 1);
            }
            return;
        }
        classPrepared(name);
        preparing = null;
    }

    /** Something is done for a class that has not begun: that is put back with it, if it is the next to begin. */
    static void classPrepared(String name) {
        if (isolation == 0 || name.equals(preparing)) {
            return;
        }
        String changed = preparing == null ? null : changedOfProject();
        if (changed != null) {
            UntetherTrace.notRestored(preparing, "it changed " + changed + " before the tests of another class began");
        }
        obstacle = null;
        leftBehind = null;
        keepAll();
        save(UntetherNative.liveThreads());
        preparing = name;
    }

    /** A field of the project, or what it sets in the JDK, that shows another value than at the first save; null where none does. */
    private static String changedOfProject() {
        UntetherLock.enterSuspended();
        try {
            for (int i = 0; i < count; i++) {
                Object object = slots[i].owner.get();
                if (object != null && !isAsBefore(object, i) && isOfProject(slots[i].owner)) {
                    return UntetherFields.fieldOf(slots[i]);
                }
            }
            return null;
        } finally {
            UntetherLock.exit();
        }
    }

    static boolean isolatesTests() {
        return isolation == TESTS;
    }

    /** A test begins, in so many classes one inside of the other: the first finds what fixtures did, and so do the others. */
    static void testStarted(int levels) {
        if (depth > 0 && levels > 0) {
            again(levels + 1);
        }
    }

    /** A class that stood in no other has ended. */
    static void classEnded(String name) {
        if (isolation == 0) {
            return;
        }
        waitForThreads();
        if (obstacle == null && lastingCount > 0) {
            obstacle = "the thread '" + lasting[0].getName() + "' is still running";
        }
        if (obstacle == null && !isCommonPoolQuiet()) {
            obstacle = "a task of the common pool is still running";
        }
        try {
            again(1);
        } catch (Throwable fault) {
            obstacle = "untether failed: " + fault;
        }
        leftBehind = obstacle;
        if (leftBehind != null) {
            UntetherTrace.notRestored(name, leftBehind);
        }
    }

    /** Forgets what was changed since the first save, so that it stays. */
    private static void keepAll() {
        UntetherLock.enterSuspended();
        try {
            for (int i = 0; i < count; i++) {
                slots[i] = null;
                values[i] = null;
            }
            count = 0;
            depth = 0;
        } finally {
            UntetherLock.exit();
        }
    }

    /** What can also be done while a class runs. */
    private static String inner(String command, String rest) {
        if (command.startsWith("again ")) {
            again(Integer.parseInt(rest));
        } else if (command.startsWith("revert ")) {
            revert(rest, true);
        } else if (command.startsWith("keep ")) {
            revert(rest, false);
        } else if (command.equals("fields")) {
            told = fields();
        } else {
            return "unknown: " + command;
        }
        return "";
    }

    private static void due(String test, String command) {
        if (dueCount == dueTests.length) {
            String[] tests = new String[dueCount * 2];
            System.arraycopy(dueTests, 0, tests, 0, dueCount);
            String[] commands = new String[dueCount * 2];
            System.arraycopy(dueCommands, 0, commands, 0, dueCount);
            dueTests = tests;
            dueCommands = commands;
        }
        dueTests[dueCount] = test;
        dueCommands[dueCount++] = command;
    }

    static boolean isAnyDue() {
        return dueCount != 0;
    }

    /** Does what waited for this test, at its first invocation. */
    static void started(String test) {
        for (int i = 0; i < dueCount; i++) {
            String name = dueTests[i];
            if (name != null && test.startsWith(name)
                    && (test.length() == name.length() || test.charAt(name.length()) == '[')) {
                dueTests[i] = null;
                inner(dueCommands[i], dueCommands[i].substring(dueCommands[i].indexOf(' ') + 1));
            }
        }
    }

    private static void again(int saves) {
        while (depth > saves) {
            undo(true);
        }
        if (depth == saves) {
            undo(false);
        } else {
            save(depth == 0 ? UntetherNative.liveThreads() : threads);
        }
    }

    private static void save(Thread[] alive) {
        UntetherLock.enterSuspended();
        try {
            if (depth == DEEPEST) {
                obstacle = "saved too often";
                return;
            }
            threads = alive;
            worker = depth == 0 ? Thread.currentThread() : worker;
            starts[depth] = count;
            window = ++lastWindow;
            windows[depth++] = window;
            UntetherActors.nextEpoch();
        } finally {
            UntetherLock.exit();
        }
        UntetherNative.saveFiles(depth);
    }

    /** What running threads wrote is left to the save before, and so to the end of the class that started them. */
    private static void undo(boolean isDropped) {
        boolean hasThreads = depth > 1 && isAnyRunning();
        String inFiles = UntetherNative.putBackFiles(depth);
        if (inFiles != null && obstacle == null) {
            obstacle = inFiles;
        }
        UntetherLock.enterSuspended();
        try {
            int start = starts[depth - 1];
            int end = count;
            takeBackLocals(start);
            for (int i = end - 1; i >= start; i--) {
                if ((!hasThreads || !isOfOthers(slots[i].owner)) && !isMixed(slots[i].owner) && !isCompleted(i)) {
                    restore(i);
                    slots[i].writer = writers[i];
                    slots[i].setCellWriters(cellWriters[i]);
                }
            }
            count = start;
            for (int i = start; i < end; i++) {
                if (hasThreads && isOfOthers(slots[i].owner)) {
                    move(i, count++);
                } else {
                    slots[i] = null;
                    values[i] = null;
                }
            }
            starts[depth - 1] = count;
            if (isDropped) {
                depth--;
            }
            window = depth == 0 ? 0 : ++lastWindow;
            if (depth > 0 && !isDropped) {
                windows[depth - 1] = window;
            }
            UntetherActors.nextEpoch();
        } finally {
            UntetherLock.exit();
        }
    }

    /** Whether a future was completed meanwhile: who waited for it has gone on, and nobody would do so again. */
    private static boolean isCompleted(int entry) {
        Object object = slots[entry].owner.isMirror ? null : slots[entry].owner.get();
        if (!(object instanceof java.util.concurrent.CompletableFuture) || isAsBefore(object, entry)) {
            return false;
        }
        if (obstacle == null) {
            obstacle = "a future was completed: " + UntetherFields.fieldOf(slots[entry]);
        }
        return true;
    }

    /** Where initializers have put thread-local values beside those of tests, the table stays, and the tests' values go. */
    private static void takeBackLocals(int start) {
        boolean isMixed = false;
        for (int i = start; i < count; i++) {
            UntetherObject owner = slots[i].owner;
            if (UntetherLocals.isOfTable(owner) && isMixed(owner)) {
                isMixed = true;
                if (obstacle == null && rootOf(owner).get() != worker) {
                    obstacle = "class initializers and tests have set thread-local values of another thread";
                } else if (obstacle == null && UntetherLocals.isGone(worker, values[i])) {
                    obstacle = "a thread-local value was removed beside those of class initializers";
                }
            }
        }
        if (isMixed) {
            UntetherLocals.takeBack(worker, windows[depth - 1]);
        }
    }

    /** Puts the slots of the listed fields back, or those of all others, and leaves the rest as it is. */
    private static void revert(String fields, boolean isListed) {
        String[] wanted = split(fields);
        boolean hasThreads = isAnyRunning();
        UntetherLock.enterSuspended();
        try {
            int start = depth == 0 ? count : starts[depth - 1];
            for (int i = count - 1; i >= start; i--) {
                UntetherObject owner = slots[i].owner;
                boolean isTouched = !(hasThreads && isOfOthers(owner)) && !UntetherLocals.isOfTable(owner);
                if (isTouched && contains(wanted, UntetherFields.fieldOf(slots[i])) == isListed) {
                    restore(i);
                }
            }
            if (depth > 0) {
                UntetherLocals.revert(worker, windows[depth - 1], wanted, isListed);
            }
            UntetherActors.nextEpoch();
        } finally {
            UntetherLock.exit();
        }
    }

    /** The fields that show another value than at the last save, each once, one per line. */
    private static String fields() {
        UntetherLock.enterSuspended();
        try {
            StringBuilder text = new StringBuilder("\n");
            for (int i = depth == 0 ? count : starts[depth - 1]; i < count; i++) {
                Object object = slots[i].owner.get();
                boolean isChanged = object != null && !isAsBefore(object, i);
                if (isChanged && !UntetherLocals.isOfTable(slots[i].owner)) {
                    addLine(text, UntetherFields.fieldOf(slots[i]));
                }
            }
            if (depth > 0) {
                UntetherLocals.addFields(worker, windows[depth - 1], text);
            }
            return text.substring(1);
        } finally {
            UntetherLock.exit();
        }
    }

    /** Adds the line if it is not there. */
    static void addLine(StringBuilder lines, String line) {
        if (lines.indexOf("\n" + line + "\n") < 0) {
            lines.append(line).append('\n');
        }
    }

    static boolean contains(String[] list, String text) {
        for (String each : list) {
            if (text.equals(each)) {
                return true;
            }
        }
        return false;
    }

    private static String[] split(String text) {
        int size = 1;
        for (int at = text.indexOf(';'); at >= 0; at = text.indexOf(';', at + 1)) {
            size++;
        }
        String[] parts = new String[size];
        int from = 0;
        for (int i = 0; i < size; i++) {
            int end = text.indexOf(';', from);
            end = end < 0 ? text.length() : end;
            parts[i] = text.substring(from, end);
            from = end + 1;
        }
        return parts;
    }

    // ---- what the runtime tells

    /** The slot is about to be written. Call with the lock held. */
    static void note(UntetherSlot slot, Object object) {
        if (Thread.currentThread() != worker) {
            UntetherObject unit = unitOf(slot.owner);
            if (unit != null) {
                unit.foreignIn = window;
            }
        }
        if (isolation != 0) {
            slot.owner.whole().writtenIn = window;
        } else if (!isWarm) {
            topOf(slot.owner).writtenIn = window;
        }
        // What was made since is not there in the world that comes back.
        if (slot.window == window || slot.owner.madeIn >= windows[depth - 1]) {
            return;
        }
        slot.window = window;
        if (count == slots.length) {
            grow();
        }
        slots[count] = slot;
        values[count] = UntetherValues.strong(object, slot);
        bits[count] = UntetherValues.bits(object, slot);
        cellWriters[count] = slot.cellWriters();
        writers[count++] = slot.writer;
    }

    /**
     * Whether it is part of something to which another thread than the worker's wrote since the last save: while such
     * threads run, it stays as it is, and as a whole. Half of it put back, a queue's head but not the node that it
     * points to, would be one that its own code never left, and may turn round in or wait for ever.
     */
    private static boolean isOfOthers(UntetherObject owner) {
        UntetherObject unit = unitOf(owner);
        return unit != null && unit.foreignIn >= windows[depth - 1];
    }

    /**
     * What is put back as a whole or not at all: a library's object with the JDK's objects that it holds, such as a server's
     * own kind of queue, or a container that the project holds itself. Null for the project's own objects, and for
     * static fields, in which each slot counts.
     */
    private static UntetherObject unitOf(UntetherObject owner) {
        if (!owner.isPart()) {
            return !owner.isMirror && isOfLibrary(owner.layout) ? owner : null;
        }
        UntetherObject holder = owner.containerHolder;
        return holder != null && isOfLibrary(holder.layout) ? holder : owner.container;
    }

    private static boolean isOfLibrary(UntetherLayout layout) {
        if (layout.origin == 0) {
            Class<?> type = layout.get();
            layout.origin = (byte) (type == null || isOfProject(type) ? 1 : 2);
        }
        return layout.origin == 2;
    }

    /**
     * Whether tests and initializers wrote below the same static field of a library while the JVM was warmed up, or into the
     * same container since the last save. What initializers did stays, and without it what tests did cannot be taken out of a list or a cache that both
     * filled: it stays as well. In the project's own state tests are looked at more closely, so there each slot counts.
     */
    private static boolean isMixed(UntetherObject owner) {
        if (isolation != 0) {
            boolean isTaken = isOfCollection(owner.layout) || UntetherLocals.isOfTable(owner);
            return owner.whole().mixedIn >= windows[0] && isTaken;
        }
        if (!isWarm) {
            UntetherObject top = topOf(owner);
            return !owner.isMirror && top.mixedIn != 0 && top.parent != null && !isBelowProject(top);
        }
        return lastMixed >= windows[depth - 1] && owner.isPart()
                && owner.container.mixedIn >= windows[depth - 1] && !isOfProject(owner);
    }

    /** Whether it is one of the JDK's collections, a node of one, or an array. */
    private static boolean isOfCollection(UntetherLayout layout) {
        return layout.isArray || layout.name.startsWith("java.util.") && !layout.name.startsWith("java.util.logging.");
    }

    /** Whether the static field that leads to the object is one of the project's, or one that it sets in the JDK. */
    private static boolean isBelowProject(UntetherObject top) {
        Object holder = top.parent.get();
        return !(holder instanceof Class) || isOfProject((Class<?>) holder);
    }

    /** Whether an object of the project, or what it sets in the JDK, has the slots of this one, or holds it. */
    private static boolean isOfProject(UntetherObject owner) {
        UntetherLayout layout = owner.isMirror || !owner.layout.isTransparent ? owner.layout : owner.holder;
        Class<?> type = layout == null ? null : layout.get();
        return type == null || isOfProject(type);
    }

    private static boolean isOfProject(Class<?> type) {
        return type == System.class || type == java.util.Locale.class || type == java.util.TimeZone.class || isFromFolder(type);
    }

    private static boolean isFromFolder(Class<?> type) {
        CodeSource source = type.getProtectionDomain().getCodeSource();
        URL location = source == null ? null : source.getLocation();
        return location != null && location.getPath().endsWith("/");
    }

    private static UntetherObject rootOf(UntetherObject owner) {
        UntetherObject root = owner;
        while (root.parent != null) {
            root = root.parent;
        }
        return root;
    }

    /** The object that a static field, or another root, refers to and through which this one was found. */
    private static UntetherObject topOf(UntetherObject owner) {
        UntetherObject top = owner;
        while (top.parent != null && !top.parent.isMirror) {
            top = top.parent;
        }
        return top;
    }

    private static void move(int from, int to) {
        slots[to] = slots[from];
        values[to] = values[from];
        bits[to] = bits[from];
        writers[to] = writers[from];
        cellWriters[to] = cellWriters[from];
        if (from != to) {
            slots[from] = null;
            values[from] = null;
        }
    }

    /** An initializer is about to write the slot. Call with the lock held. */
    static void noteInitializer(UntetherSlot slot) {
        if (isolation != 0) {
            boolean isShared = slot.owner.isMirror ? slot.window >= windows[0] : slot.owner.whole().writtenIn >= windows[0];
            String field = isShared ? UntetherFields.fieldOf(slot) : null;
            if (isShared && (UntetherLocals.isOfTable(slot.owner) || UntetherNative.isRegistry(field))) {
                slot.owner.whole().mixedIn = window;
            } else if (isShared && obstacle == null) {
                obstacle = "a class initializer changed " + field + " after a test had";
            }
        } else if (isWarm && slot.owner.isPart()) {
            slot.owner.container.mixedIn = window;
            lastMixed = window;
        } else if (!isWarm && !slot.owner.isMirror) {
            UntetherObject top = topOf(slot.owner);
            top.mixedIn = top.writtenIn == window ? window : top.mixedIn;
        }
    }

    /** An initializer wrote outside of its class, and would do so again in a fresh JVM. Call with the lock held. */
    static void writtenByInitializer(UntetherSlot slot, int initializer) {
        if ((isWarm || isolation != 0) && obstacle == null && isOfProject(slot.owner, initializer)) {
            obstacle = "a class initializer changed " + UntetherFields.fieldOf(slot);
        }
    }

    /** The table of thread-local values is everybody's: it counts whose initializer put one there. */
    private static boolean isOfProject(UntetherObject owner, int initializer) {
        if (!UntetherLocals.isOfTable(owner)) {
            return isOfProject(owner);
        }
        Class<?> type = UntetherActors.initializerType(initializer);
        return type == null || isOfProject(type);
    }

    /** An initializer reads the slot. Call with the lock held. */
    static void readByInitializer(UntetherSlot slot, int initializer) {
        // The table of thread-local values is everybody's: initializers of libraries look for what is their own.
        boolean isMeant = !UntetherLocals.isOfTable(slot.owner) || isOfProject(slot.owner, initializer);
        if (slot.window != 0 && slot.window >= windows[0] && obstacle == null && !isCold && isMeant) {
            String field = UntetherFields.fieldOf(slot);
            boolean isOwn = UntetherNative.isRegistry(field) || UntetherNative.isLookup(field);
            obstacle = isOwn ? null : "a class initializer read " + field;
        }
    }

    private static void grow() {
        int length = count * 2;
        UntetherSlot[] moreSlots = new UntetherSlot[length];
        System.arraycopy(slots, 0, moreSlots, 0, count);
        Object[] moreValues = new Object[length];
        System.arraycopy(values, 0, moreValues, 0, count);
        long[] moreBits = new long[length];
        System.arraycopy(bits, 0, moreBits, 0, count);
        int[] moreWriters = new int[length];
        System.arraycopy(writers, 0, moreWriters, 0, count);
        int[][] moreCellWriters = new int[length][];
        System.arraycopy(cellWriters, 0, moreCellWriters, 0, count);
        cellWriters = moreCellWriters;
        slots = moreSlots;
        values = moreValues;
        bits = moreBits;
        writers = moreWriters;
    }

    // ---- values

    private static void restore(int entry) {
        UntetherSlot slot = slots[entry];
        Object object = slot.owner.get();
        if (object != null) {
            UntetherValues.put(object, slot, values[entry], bits[entry]);
        }
    }

    private static boolean isAsBefore(Object object, int entry) {
        UntetherSlot slot = slots[entry];
        if (slot.isReference() && !UntetherValues.isChunk(object, slot)) {
            return U.getReference(object, UntetherValues.offset(object, slot)) == values[entry];
        }
        return UntetherValues.isUnchanged(object, slot, values[entry], bits[entry]);
    }

    // ---- threads

    /** Threads that are about to end are given the time; the others are waited for only once. */
    private static void waitForThreads() {
        if (depth == 0) {
            return;
        }
        Thread[] alive = UntetherNative.liveThreads();
        Thread[] still = new Thread[alive.length];
        int size = 0;
        long deadline = System.nanoTime() + LONGEST_WAIT * 1_000_000;
        for (Thread thread : alive) {
            if (!isNew(thread) || isHarmless(thread)) {
                continue;
            }
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left > 0 && !contains(lasting, thread)) {
                join(thread, left);
            }
            if (thread.isAlive()) {
                still[size++] = thread;
            }
        }
        lasting = still;
        lastingCount = size;
    }

    /** Whether the pool that all share has nothing to do, after a brief wait. One without threads is left alone. */
    private static boolean isCommonPoolQuiet() {
        long deadline = System.nanoTime() + LONGEST_WAIT * 1_000_000;
        while (hasCommonPoolThreads() && !java.util.concurrent.ForkJoinPool.commonPool().isQuiescent()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    private static boolean hasCommonPoolThreads() {
        for (Thread thread : UntetherNative.liveThreads()) {
            if (isOfCommonPool(thread)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOfCommonPool(Thread thread) {
        return thread.getClass().getName().startsWith("java.util.concurrent.ForkJoinWorkerThread")
                && thread.getName().startsWith("ForkJoinPool.commonPool");
    }

    private static void join(Thread thread, long longest) {
        try {
            thread.join(Math.min(longest, SHORTEST_WAIT));
            if (thread.getState() != Thread.State.WAITING && longest > SHORTEST_WAIT) {
                thread.join(longest - SHORTEST_WAIT);
            }
        } catch (InterruptedException ignored) {
            Thread.currentThread().interrupt();
        }
    }

    /** What threads and old values hold on to can get too much; empty where there is room. */
    private static String exhaustion() {
        if (lastingCount > MOST_LASTING) {
            return lastingCount + " threads are still running";
        }
        if (!isHeapFull()) {
            return "";
        }
        System.gc();
        return isHeapFull() ? "the heap is full" : "";
    }

    private static boolean isHeapFull() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory() > runtime.maxMemory() / 10 * 7;
    }

    private static boolean contains(Thread[] list, Thread thread) {
        for (Thread each : list) {
            if (each == thread) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAnyRunning() {
        for (Thread thread : UntetherNative.liveThreads()) {
            if (isNew(thread) && !isHarmless(thread)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isNew(Thread thread) {
        return thread != Thread.currentThread() && !contains(threads, thread);
    }

    /** The JDK's own helpers, which keep nothing of the program. Whether the common pool has work is asked by itself. */
    private static boolean isHarmless(Thread thread) {
        // A cleaner that a program has made acts for the program, whenever something is collected.
        boolean isOfJdk = thread.getClass().getName().startsWith("jdk.internal.") && !thread.getName().startsWith("Cleaner-");
        return isOfJdk || isOfCommonPool(thread) || thread.getName().startsWith("process reaper")
                || thread.getName().equals("Attach Listener");
    }
}
