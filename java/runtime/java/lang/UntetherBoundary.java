package java.lang;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * Where tests and test classes start and end, as the hooks in the test frameworks report it. Several
 * frameworks may report the same test (JUnit 3 inside JUnit 4 inside the Platform): the first start
 * and the first end with the same id count.
 *
 * <p>Frameworks are only known by name and through reflection: nothing here is linked to them.
 */
final class UntetherBoundary {
    private static final int PASSED = UntetherFrames.OUTCOME_STATUS_PASSED;
    private static final int FAILED = UntetherFrames.OUTCOME_STATUS_FAILED;
    private static final int ABORTED = UntetherFrames.OUTCOME_STATUS_ABORTED;
    private static final int SKIPPED = UntetherFrames.OUTCOME_STATUS_SKIPPED;

    private static final Thread[] NO_THREADS = {};

    /** A test class, or a suite of them, that is running. */
    private static final class ClassRun {
        final String name;
        final int actor;
        final ClassRun outer;
        int depth = 1;

        ClassRun(String name, int actor, ClassRun outer) {
            this.name = name;
            this.actor = actor;
            this.outer = outer;
        }
    }

    /** Whether only uses of classes are told, and nothing of the heap. */
    private static boolean isLight;

    /** Whether they are those of tests, where tests can be left out by themselves, and not only of whole test classes. */
    private static boolean isByTest;

    /** Whether the open test is such a one. */
    private static boolean isApart;

    private static boolean isReady;
    private static boolean isActive;
    private static int outside;
    private static ClassRun classRun;
    private static String openTest;
    private static String lastSkipped;
    private static int openActor;
    private static Thread openThread;
    private static long openedAt;
    private static int status;
    private static String message;
    private static String trace;
    private static boolean hasSaidSequential;
    private static boolean hasCheckedOrder;
    private static boolean hasSaidWhole;

    /** What Spock has made for the features of a specification to share, before it says that it starts. */
    private static Object sharedInstance;

    private UntetherBoundary() {}

    /** Called by the agent once the VM is up. */
    static void start() {
        UntetherNative.bind();
        isLight = UntetherNative.watchesUses();
        if (isLight) {
            isByTest = UntetherNative.isByTest();
            // What is used before the first test class counts for all of them.
            UntetherActors.isTelling = true;
            outside = UntetherActors.create(UntetherActors.OUTSIDE, 0, "", "");
            UntetherUses.start(outside);
            isReady = true;
            return;
        }
        if (!UntetherHeader.check()) {
            UntetherTrace.note("unsupported", "object headers of this JVM are not laid out as expected");
            return;
        }
        if (!UntetherHandles.prepare()) {
            UntetherTrace.note("method-handles", "accesses through method handles are not watched on this JDK");
        }
        UntetherActors.isThorough = UntetherNative.isThorough();
        UntetherActors.isTelling = UntetherNative.isTelling();
        UntetherUndo.isolation = UntetherNative.isolation();
        isReady = true;
    }

    /** Called by the agent when the VM ends. */
    static void finish() {
        if (openTest != null) {
            UntetherTrace.note("cut-off", openTest);
        }
        if (isActive && UntetherLock.suspend()) {
            try {
                switchTo(outside);
                if (isLight) {
                    enter();
                    try {
                        UntetherUses.flush();
                    } finally {
                        UntetherLock.exit();
                    }
                }
            } finally {
                UntetherLock.resume();
            }
        }
        if (UntetherLock.enterForced()) {
            try {
                UntetherTrace.flush();
            } finally {
                UntetherLock.exit();
            }
        }
    }

    static String obey(String command) {
        if (!isReady || !UntetherLock.suspend()) {
            return "this JVM is not watched";
        }
        try {
            activate();
            switchTo(outside);
            return UntetherUndo.obey(command);
        } catch (Throwable unexpected) {
            return command + ": " + unexpected;
        } finally {
            UntetherLock.resume();
        }
    }

    /** Whether somebody is to be asked which test classes to run: then they have to know how this JVM was started. */
    static boolean isAsking() {
        if (!isLight) {
            return false;
        }
        activate();
        enter();
        try {
            UntetherTrace.flush();
        } finally {
            UntetherLock.exit();
        }
        return true;
    }

    static Object chosen(Object classes) {
        if (!isReady || !isLight || !UntetherLock.suspend()) {
            return classes;
        }
        try {
            return UntetherChoice.of(classes);
        } catch (Throwable unexpected) {
            UntetherTrace.note("boundary", "choice: " + unexpected);
            return classes;
        } finally {
            UntetherLock.resume();
        }
    }

    static void reached(int hook, Object self, Object first, Object second) {
        if (!isReady || !UntetherLock.suspend()) {
            return;
        }
        try {
            dispatch(hook, self, first, second);
        } catch (OutOfMemoryError full) {
            UntetherFaults.caught(full);
        } catch (Throwable unexpected) {
            UntetherTrace.note("boundary", "hook " + hook + ": " + unexpected);
        } finally {
            UntetherLock.resume();
        }
    }

    private static void dispatch(int hook, Object self, Object first, Object second) throws Throwable {
        switch (hook) {
            case UntetherEvents.PLATFORM_PLANNED:
                UntetherChoice.prune(self);
                break;
            case UntetherEvents.PLATFORM_NODE:
                platformNode(field(self, "testDescriptor"));
                break;
            case UntetherEvents.PLATFORM_STARTED:
                platformStarted(first);
                break;
            case UntetherEvents.PLATFORM_FINISHED:
                platformFinished(first, second);
                break;
            case UntetherEvents.PLATFORM_SKIPPED:
                platformSkipped(first, (String) second);
                break;
            case UntetherEvents.JUNIT4_CLASS_STARTED:
                checkOrder(self);
                classStarted(className(call(self, "getDescription")));
                break;
            case UntetherEvents.JUNIT4_CLASS_FINISHED:
                String finished = self == null ? null : className(call(self, "getDescription"));
                // Runners of one set of parameters have no class of their own.
                if (self == null || finished != null) {
                    classFinished(finished);
                }
                break;
            case UntetherEvents.JUNIT3_SUITE_MADE:
                if (needsClassRuns()) {
                    suites.put(self, ((Class<?>) first).getName());
                }
                break;
            case UntetherEvents.JUNIT3_CLASS_STARTED:
                if (needsClassRuns()) {
                    classStarted(junit3Class(self));
                }
                break;
            case UntetherEvents.JUNIT3_CLASS_FINISHED:
                if (needsClassRuns()) {
                    classFinished(self == null ? null : junit3Class(self));
                    suites.remove(self);
                }
                break;
            case UntetherEvents.JUNIT4_TEST_PREPARED:
                testStarted(idOf(call(self, "describeChild", first)), "");
                break;
            case UntetherEvents.JUNIT4_TEST_STARTED:
                testStarted(idOf(first), "");
                break;
            case UntetherEvents.JUNIT4_TEST_FINISHED:
                testFinished(idOf(first));
                break;
            case UntetherEvents.JUNIT4_TEST_FAILED:
                failed(idOf(call(first, "getDescription")), FAILED, (Throwable) call(first, "getException"));
                break;
            case UntetherEvents.JUNIT4_TEST_ABORTED:
                failed(idOf(call(first, "getDescription")), ABORTED, (Throwable) call(first, "getException"));
                break;
            case UntetherEvents.JUNIT4_TEST_IGNORED:
                skipped(idOf(first), "");
                break;
            case UntetherEvents.JUNIT3_TEST_STARTED:
                checkOrder(self);
                testStarted(junit3(first), "");
                break;
            case UntetherEvents.JUNIT3_TEST_FINISHED:
                testFinished(junit3(first));
                break;
            case UntetherEvents.JUNIT3_TEST_FAILED:
                failed(junit3(first), FAILED, (Throwable) second);
                break;
            case UntetherEvents.JUPITER_INSTANCE_MADE:
                java.util.List<?> instances = (java.util.List<?>) first;
                instanceCreated(instances.get(instances.size() - 1));
                break;
            case UntetherEvents.JUNIT4_RUNNER_WANTED:
                runnerWanted((Class<?>) first);
                break;
            case UntetherEvents.JUNIT4_RUNNER_MADE:
                runnerMade();
                break;
            case UntetherEvents.SPOCK_SHARED_INSTANCE:
                sharedInstance = first;
                break;
            case UntetherEvents.TEST_NG_STARTED:
                testNgStarted();
                break;
            default:
                break;
        }
    }

    // ---- the JUnit Platform

    private static void platformNode(Object descriptor) throws Throwable {
        if (UntetherNames.isTest(descriptor)) {
            platformTest(descriptor);
        } else if (classRun == null) {
            prepared(platformClass(descriptor));
        }
    }

    private static void platformTest(Object descriptor) throws Throwable {
        if (openTest != null) {
            return;
        }
        UntetherNames names = new UntetherNames(descriptor, null);
        String selector = names.selector();
        isApart = isByTest && names.isOf("junit-jupiter");
        testStarted(names.test(), (String) call(descriptor, "getDisplayName"));
        if (selector != null) {
            select(names.method(), selector);
        }
        if (names.wholeEngine() != null && !hasSaidWhole) {
            hasSaidWhole = true;
            UntetherTrace.note("engine", names.wholeEngine()
                    + " tells of its tests only while they run: 'untether refine' runs each of its classes as a whole");
        }
    }

    /** Says by which unique id a test can be run again that has no class and method. */
    private static void select(String test, String uniqueId) {
        enter();
        try {
            UntetherFrames.selector(test, uniqueId);
        } finally {
            UntetherLock.exit();
        }
    }

    private static void platformStarted(Object descriptor) throws Throwable {
        if (UntetherNames.isTest(descriptor)) {
            platformTest(descriptor);
        } else {
            classStarted(platformClass(descriptor));
        }
    }

    private static void platformFinished(Object descriptor, Object result) throws Throwable {
        String outcome = call(result, "getStatus").toString();
        Object thrown = ((java.util.Optional<?>) call(result, "getThrowable")).orElse(null);
        int code = outcome.equals("SUCCESSFUL") ? PASSED : outcome.equals("ABORTED") ? ABORTED : FAILED;
        boolean isTest = UntetherNames.isTest(descriptor);
        String name = isTest ? new UntetherNames(descriptor, null).test() : platformClass(descriptor);
        if (name == null) {
            return;
        }
        if (code != PASSED) {
            failed(name, code, (Throwable) thrown);
        }
        if (isTest) {
            testFinished(name);
        } else {
            classFinished(name);
        }
    }

    private static void platformSkipped(Object descriptor, String reason) throws Throwable {
        if (UntetherNames.isTest(descriptor)) {
            skipped(new UntetherNames(descriptor, null).test(), reason);
        }
    }

    /** The class or file that a container stands for; null for engines, methods and dynamic containers. */
    private static String platformClass(Object descriptor) throws Throwable {
        UntetherNames names = new UntetherNames(descriptor, null);
        return names.isOwner() ? names.owner() : null;
    }

    /** How many runners are being made, one inside of the other. */
    private static int runnersWanted;

    /** Who makes what will run the tests of a class acts for that class, which has not started yet. */
    private static void runnerWanted(Class<?> type) {
        // Where classes of JUnit 3 are not told apart from their tests, nothing is theirs.
        if (++runnersWanted == 1 && type != null && (needsClassRuns() || !isOfJUnit3(type))) {
            prepared(type.getName());
        }
    }

    private static boolean isOfJUnit3(Class<?> type) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            if (at.getName().equals("junit.framework.TestCase")) {
                return true;
            }
        }
        return false;
    }

    private static void runnerMade() {
        if (--runnersWanted == 0 && classRun == null && openTest == null && isActive) {
            switchTo(outside);
        }
    }

    /** Who acts for classes that have not started yet, since something was done for them already. */
    private static final java.util.HashMap<String, Integer> preparing = new java.util.HashMap<>();

    /** Something is done for a class before it starts: parameters are computed, extensions in static fields are made. */
    private static void prepared(String name) {
        if (name == null || classRun != null || openTest != null) {
            return;
        }
        activate();
        Integer known = preparing.get(name);
        int actor = known == null ? created(outside, name) : known;
        preparing.put(name, actor);
        switchTo(actor);
        UntetherUndo.classPrepared(name);
    }

    private static int created(int parent, String name) {
        enter();
        try {
            return UntetherActors.create(UntetherActors.CLASS, parent, name, "");
        } finally {
            UntetherLock.exit();
        }
    }

    /** Classes of JUnit 3 have no fixtures: where they begin and end only matters to some. */
    private static boolean needsClassRuns() {
        return isLight || UntetherUndo.isolation != 0;
    }

    /** A test instance was made: outside of a test it will serve several of them. */
    private static void instanceCreated(Object instance) {
        if (openTest != null || classRun == null || !isActive || isLight) {
            return;
        }
        String name = instance.getClass().getName() + ".this";
        enter();
        try {
            UntetherSharing.root(instance, name, classRun.actor);
        } finally {
            UntetherLock.exit();
        }
        switchTo(classRun.actor);
    }

    // ---- JUnit 4 and 3

    private static String idOf(Object description) throws Throwable {
        String owner = (String) call(description, "getClassName");
        String method = (String) call(description, "getMethodName");
        return method == null ? owner : owner + "#" + method;
    }

    private static String className(Object description) throws Throwable {
        Object type = call(description, "getTestClass");
        return type == null ? null : ((Class<?>) type).getName();
    }

    /** The classes whose {@code suite()} made the tests of a runner, which does not keep them itself. */
    private static final java.util.IdentityHashMap<Object, String> suites = new java.util.IdentityHashMap<>();

    /** The class of a runner of JUnit 3, or that of its first test where it has none. */
    private static String junit3Class(Object runner) throws Throwable {
        String owner = suites.get(runner);
        if (owner != null) {
            return owner;
        }
        Object at = call(runner, "getDescription");
        for (String name = className(at); ; name = className(at)) {
            java.util.List<?> children = (java.util.List<?>) call(at, "getChildren");
            if (name != null || children.isEmpty()) {
                return name;
            }
            at = children.get(0);
        }
    }

    private static String junit3(Object test) throws Throwable {
        try {
            return test.getClass().getName() + "#" + call(test, "getName");
        } catch (NoSuchMethodException unnamed) {
            // Adapters of JUnit 4 tests and decorators announce nothing of their own.
            return null;
        }
    }

    /**
     * JUnit before 4.11 takes methods as reflection lists them. The JVM lists them by where in memory their names happen
     * to lie, which is another place in every JVM with other options, or with an agent.
     */
    private static void checkOrder(Object framework) {
        if (hasCheckedOrder) {
            return;
        }
        hasCheckedOrder = true;
        try {
            Class.forName("org.junit.internal.MethodSorter", false, framework.getClass().getClassLoader());
        } catch (ClassNotFoundException old) {
            UntetherTrace.note("order", "JUnit before 4.11 runs the methods of a class in the order of reflection");
        }
    }

    /** TestNG's own runner; what an engine of the JUnit Platform runs with it is announced there. */
    private static void testNgStarted() {
        for (StackTraceElement caller : new Throwable().getStackTrace()) {
            if (caller.getClassName().startsWith("org.junit.platform.")) {
                return;
            }
        }
        UntetherTrace.note("testng", "tests of TestNG are not watched");
    }

    // ---- what the reports amount to

    private static void classStarted(String name) {
        if (name == null || openTest != null) {
            return;
        }
        if (classRun != null && classRun.name.equals(name)) {
            classRun.depth++;
            return;
        }
        activate();
        Integer prepared = classRun == null ? preparing.remove(name) : null;
        int actor = prepared == null ? created(classRun == null ? outside : classRun.actor, name) : prepared;
        switchTo(actor);
        if (classRun == null) {
            enter();
            try {
                UntetherActors.startClassRun();
            } finally {
                UntetherLock.exit();
            }
        }
        boolean isNested = classRun != null && name.startsWith(classRun.name + "$");
        UntetherUndo.classStarted(name, levels(), isNested);
        classRun = new ClassRun(name, actor, classRun);
        if (sharedInstance != null && sharedInstance.getClass().getName().equals(name)) {
            instanceCreated(sharedInstance);
        }
        sharedInstance = null;
    }

    /** A null name closes the innermost class: the framework left it with an exception. */
    private static void classFinished(String name) {
        if (classRun == null || openTest != null || (name != null && !classRun.name.equals(name))) {
            return;
        }
        if (--classRun.depth > 0) {
            return;
        }
        String ended = classRun.name;
        classRun = classRun.outer;
        switchTo(classRun == null ? outside : classRun.actor);
        if (classRun == null) {
            enter();
            try {
                UntetherActors.endClassRun();
            } finally {
                UntetherLock.exit();
            }
            UntetherUndo.classEnded(ended);
            keepLingering();
        }
    }

    private static void keepLingering() {
        if (!isLight) {
            return;
        }
        java.util.HashSet<String> names = UntetherUses.lingering();
        enter();
        try {
            UntetherUses.keep(names);
        } finally {
            UntetherLock.exit();
        }
    }

    private static ClassRun outermost(ClassRun run) {
        return run.outer == null ? run : outermost(run.outer);
    }

    /** How many classes and suites are running, one inside of the other. */
    private static int levels() {
        int levels = 0;
        for (ClassRun at = classRun; at != null; at = at.outer) {
            levels++;
        }
        return levels;
    }

    private static void testStarted(String id, String detail) {
        if (id == null || openTest != null) {
            return;
        }
        activate();
        if (UntetherUndo.isAnyDue()) {
            switchTo(UntetherActors.current());
            UntetherUndo.started(id);
        }
        if (UntetherUndo.isolatesTests()) {
            switchTo(UntetherActors.current());
            UntetherUndo.testStarted(levels());
        }
        openTest = id;
        openThread = Thread.currentThread();
        status = PASSED;
        message = null;
        trace = null;
        // Some runners do not say that a class begins, for which something was done before.
        int method = id.indexOf('#');
        Integer prepared = classRun != null || method < 0 ? null : preparing.get(id.substring(0, method));
        int parent = classRun != null ? classRun.actor : prepared != null ? prepared : outside;
        enter();
        try {
            openActor = UntetherActors.create(UntetherActors.TEST, parent, id, detail);
        } finally {
            UntetherLock.exit();
        }
        switchTo(openActor);
        openedAt = System.nanoTime();
        enter();
        try {
            UntetherTrace.started(openActor, openedAt);
        } finally {
            UntetherLock.exit();
        }
    }

    private static void testFinished(String id) {
        if (openTest == null || !openTest.equals(id)) {
            return;
        }
        long nanos = System.nanoTime() - openedAt;
        switchTo(classRun == null ? outside : classRun.actor);
        enter();
        try {
            UntetherTrace.outcome(openActor, status, nanos, message, trace);
        } finally {
            UntetherLock.exit();
        }
        openTest = null;
        openActor = 0;
        openThread = null;
        if (isApart) {
            isApart = false;
            keepLingering();
        }
    }

    private static void failed(String id, int code, Throwable thrown) {
        String text = textOf(thrown);
        String stack = thrown == null ? "" : stackOf(thrown);
        if (openTest != null && openTest.equals(id)) {
            status = status == FAILED ? FAILED : code;
            message = message == null ? text : message;
            trace = trace == null ? stack : trace;
        } else if (openTest == null && classRun != null && classRun.name.equals(id)) {
            enter();
            try {
                UntetherTrace.outcome(classRun.actor, code, 0, text, stack);
            } finally {
                UntetherLock.exit();
            }
        }
    }

    private static void skipped(String id, String reason) {
        if (openTest != null && openTest.equals(id)) {
            status = SKIPPED;
            message = reason;
            testFinished(id);
            lastSkipped = id;
            return;
        }
        // Runners and engines announce it one after the other.
        if (openTest != null || id.equals(lastSkipped)) {
            lastSkipped = null;
            return;
        }
        lastSkipped = id;
        activate();
        enter();
        try {
            int parent = classRun == null ? outside : classRun.actor;
            int actor = UntetherActors.create(UntetherActors.TEST, parent, id, "");
            UntetherTrace.outcome(actor, SKIPPED, 0, reason, "");
        } finally {
            UntetherLock.exit();
        }
    }

    /** Programs' throwables may throw themselves when they are asked. */
    private static String textOf(Throwable thrown) {
        try {
            return thrown == null ? "" : String.valueOf(thrown);
        } catch (Throwable another) {
            return thrown.getClass().getName();
        }
    }

    private static String stackOf(Throwable thrown) {
        StringBuilder text = new StringBuilder();
        int frames = 0;
        for (StackTraceElement element : thrown.getStackTrace()) {
            if (++frames > 60) {
                break;
            }
            text.append("\tat ").append(element).append('\n');
        }
        return text.toString();
    }

    private static void activate() {
        if (isActive) {
            return;
        }
        // The thread's map of thread-locals should be nobody's, not that of the first test to use one.
        ThreadLocal<Object> local = new ThreadLocal<>();
        local.set(classRun);
        local.remove();
        if (!isLight) {
            // Filled in when they are first asked for, with what everybody would fill in: they would be the first asker's doing.
            java.util.Locale.getDefault(java.util.Locale.Category.FORMAT);
            java.util.Locale.getDefault(java.util.Locale.Category.DISPLAY);
        }
        Class<?>[] classes = isLight ? null : UntetherNative.initializedClasses();
        Thread[] threads = isLight ? null : UntetherNative.liveThreads();
        UntetherUses.look(true);
        Object[] properties = System.getProperties().entrySet().toArray();
        UntetherUses.look(false);
        // Build tools switch assertions on inside the JVM; a class of no package asks for the default.
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        boolean hasAssertions = loader.classAssertionStatus != null && loader.desiredAssertionStatus("untether");
        enter();
        try {
            for (Object property : properties) {
                java.util.Map.Entry<?, ?> entry = (java.util.Map.Entry<?, ?>) property;
                if (entry.getKey() instanceof String && entry.getValue() instanceof String) {
                    UntetherFrames.property((String) entry.getKey(), (String) entry.getValue());
                }
            }
            if (hasAssertions) {
                UntetherFrames.property("untether.assertions", "true");
            }
            if (!isLight) {
                UntetherActors.activate(classes, threads);
                outside = UntetherActors.current();
            }
            isActive = true;
        } finally {
            UntetherLock.exit();
        }
    }

    private static void switchTo(int actor) {
        if (isLight) {
            int acting = classRun == null || isApart && openActor == actor ? actor : outermost(classRun).actor;
            boolean isOther = acting != UntetherUses.current();
            enter();
            try {
                UntetherUses.switchTo(acting);
            } finally {
                UntetherLock.exit();
            }
            if (isOther) {
                UntetherNative.acts(acting);
            }
            UntetherFaults.tell();
            return;
        }
        Thread[] threads = NO_THREADS;
        if (UntetherActors.hasNewThreads) {
            UntetherActors.hasNewThreads = false;
            threads = UntetherNative.liveThreads();
        }
        enter();
        try {
            UntetherActors.switchTo(actor, threads);
        } finally {
            UntetherLock.exit();
        }
        UntetherNative.acts(actor);
        UntetherFaults.tell();
    }

    /** Takes the lock although this thread is suspended: it is the runtime's own work. */
    private static void enter() {
        UntetherLock.enterSuspended();
    }

    // ---- parallel execution is switched off, as the order of accesses would mean nothing

    static boolean sequential(boolean isParallel) {
        if (isParallel) {
            saySequential("junit.jupiter.execution.parallel.enabled");
        }
        return false;
    }

    static Object sequentialScheduler(Object runner, Object scheduler) {
        saySequential("a parallel RunnerScheduler");
        try {
            for (Class<?> type = runner.getClass(); type != null; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (field.getType().getName().equals("org.junit.runners.model.RunnerScheduler")) {
                        field.setAccessible(true);
                        return field.get(runner);
                    }
                }
            }
        } catch (ReflectiveOperationException unexpected) {
            UntetherTrace.note("boundary", "scheduler: " + unexpected);
        }
        return scheduler;
    }

    private static void saySequential(String cause) {
        if (!hasSaidSequential) {
            hasSaidSequential = true;
            UntetherTrace.note("sequential", cause);
        }
    }

    // ---- reflection

    private static Object field(Object object, String name) throws Throwable {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    private static final java.util.concurrent.ConcurrentHashMap<Class<?>, java.util.HashMap<String, Method>> methods =
            new java.util.concurrent.ConcurrentHashMap<>();

    private static Object call(Object object, String name, Object... arguments) throws Throwable {
        Class<?> type = object.getClass();
        java.util.HashMap<String, Method> known = methods.get(type);
        Method method = known == null ? null : known.get(name);
        if (method == null) {
            method = find(type, name, arguments.length);
            method.setAccessible(true);
            java.util.HashMap<String, Method> more =
                    known == null ? new java.util.HashMap<>() : new java.util.HashMap<>(known);
            more.put(name, method);
            methods.put(type, more);
        }
        return method.invoke(object, arguments);
    }

    private static Method find(Class<?> from, String name, int parameters) throws NoSuchMethodException {
        for (Class<?> type = from; type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == parameters
                        && !method.isBridge()) {
                    return method;
                }
            }
        }
        return from.getMethod(name);
    }
}
