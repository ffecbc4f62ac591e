package untether;

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.annotation.Annotation;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Runs tests of the class path without a build tool: {@code Worker PLAN [RESULTS STARTER]}. With {@code -} in place of the
 * plan's file, plans come through the standard input.
 *
 * <p>The plan has one test class per line, or one test as {@code class#method}; neighbouring lines of one
 * class and of the classes that JUnit nests in it form one class run: exactly these methods, in this order, with
 * the class's fixtures around them. A test that has no class and method is followed by a tab and its unique id on
 * the JUnit Platform; neighbouring ones of one engine's suite form one run. A line that begins with {@code !} is for the
 * agent, where there is one: it puts back what tests have changed, so that one JVM can run many schedules as if each
 * were the first.
 * {@link Results} writes what becomes of it. Test frameworks are reached by reflection only: the worker is
 * on the boot class path, where no library is.
 */
public final class Worker {
    private final ClassLoader loader = ClassLoader.getSystemClassLoader();
    private final Results results;
    private final boolean hasPlatform;
    private final boolean hasVintage;
    private Platform platform;

    private Worker(Results results) {
        this.results = results;
        hasPlatform = find("org.junit.platform.launcher.core.LauncherFactory") != null;
        hasVintage = find("org.junit.vintage.engine.VintageTestEngine") != null;
    }

    public static void main(String[] arguments) throws Throwable {
        boolean isLive = arguments[0].equals("-");
        List<String> plan = isLive ? null : Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.UTF_8);
        Results results = new Results(arguments.length > 1 ? arguments[1] : null);
        if (arguments.length > 2) {
            endWith(Long.parseLong(arguments[2]));
        }
        if (isLive) {
            runAll(new Worker(results));
        } else {
            new Worker(results).run(plan);
        }
        results.done();
        System.out.flush();
        // Tests may have left threads behind; like a build tool's worker, we do not wait for them.
        System.exit(results.failed > 0 ? 1 : results.ran == 0 ? 4 : 0);
    }

    /** One plan after the other, each ended by a line with a dot, until there are no more. */
    private static void runAll(Worker worker) throws Throwable {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        // Tests find no input, as in other workers.
        System.setIn(InputStream.nullInputStream());
        List<String> plan = new ArrayList<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (!line.equals(".")) {
                plan.add(line);
            } else if (worker.run(plan)) {
                worker.results.planEnded();
                plan.clear();
            } else {
                return;
            }
        }
    }

    /** A worker whose starter was killed, even before we came to this, would run on with a test that hangs. */
    private static void endWith(long starter) {
        ProcessHandle process = ProcessHandle.of(starter).orElse(null);
        Thread watch = new Thread(() -> {
            while (process != null && process.isAlive()) {
                try {
                    Thread.sleep(500);
                } catch (InterruptedException ignored) {
                    // Only the starter's end counts.
                }
            }
            Runtime.getRuntime().halt(5);
        }, "untether");
        watch.setDaemon(true);
        watch.start();
    }

    /** False where the JVM is no longer of use. */
    private boolean run(List<String> plan) throws Throwable {
        // Neighbouring whole classes that the Platform executes in one go, as a build tool would.
        Set<Class<?>> whole = new LinkedHashSet<>();
        int at = 0;
        while (at < plan.size()) {
            if (plan.get(at).startsWith("!")) {
                flush(whole);
                if (!obey(plan.get(at++).substring(1))) {
                    return false;
                }
                continue;
            }
            String name = className(plan.get(at));
            int start = at;
            if (uniqueId(plan.get(at)) != null) {
                flush(whole);
                at = endOfEngine(plan, start);
                results.classStarted(name, at - start);
                if (hasPlatform) {
                    platform().run(null, plan.subList(start, at));
                }
                results.classEnded(name);
                continue;
            }
            boolean isWhole = true;
            for (; at < plan.size() && className(plan.get(at)).equals(name); at++) {
                isWhole &= plan.get(at).indexOf('#') < 0;
            }
            Class<?> type = find(name);
            boolean isOld = type != null && JUnit4.isTestClass(type, loader);
            if (type != null && isWhole && hasPlatform && (hasVintage || !isOld)) {
                if (whole.contains(type)) {
                    flush(whole);
                }
                whole.add(type);
                continue;
            }
            flush(whole);
            if (type != null && !isOld && hasPlatform) {
                at = endOfFamily(plan, start, type);
            }
            results.classStarted(name, at - start);
            Runner runner = type == null ? null : runnerOf(type, isOld, isWhole);
            if (type == null) {
                System.err.println("untether: cannot load test class " + name);
                results.failed(name, Results.MISSING, new ClassNotFoundException(name));
            } else if (runner == null) {
                results.failed(name, Results.MISSING, null);
            } else {
                runner.run(type, plan.subList(start, at));
            }
            results.classEnded(name);
        }
        flush(whole);
        return true;
    }

    /** Null where no framework is there that would run it. */
    private Runner runnerOf(Class<?> type, boolean isOld, boolean isWhole) throws ReflectiveOperationException {
        if (!isOld) {
            return hasPlatform ? platform() : null;
        }
        // JUnit 4 runs those of JUnit 3 as well, where it is there, but not in any order.
        boolean hasJUnit4 = find("org.junit.runner.Request", loader) != null;
        boolean isJUnit3 = !hasJUnit4 || !isWhole && JUnit3.isTestClass(type, loader);
        return isJUnit3 ? new JUnit3(loader, results) : new JUnit4(loader, results);
    }

    /** Has the agent do what a line of the plan says; false where this JVM is no longer of use for what follows. */
    private boolean obey(String command) throws ReflectiveOperationException {
        String answer;
        try {
            answer = (String) Class.forName("java.lang.Untether").getMethod("obey", String.class).invoke(null, command);
        } catch (ClassNotFoundException unwatched) {
            answer = "this JVM has no agent";
        }
        if (command.equals("told")) {
            results.told(answer);
        } else if (!answer.isEmpty()) {
            results.notRestorable(answer);
            return false;
        }
        return true;
    }

    /**
     * The end of the lines whose classes JUnit nests in one, as long as no nested class would have to be entered
     * a second time.
     */
    private int endOfFamily(List<String> plan, int start, Class<?> first) {
        List<Class<?>> last = family(first);
        Set<Class<?>> entered = new HashSet<>(last);
        int at = start + 1;
        for (; at < plan.size() && plan.get(at).indexOf('#') >= 0; at++) {
            Class<?> type = find(className(plan.get(at)));
            List<Class<?>> next = type == null ? new ArrayList<>() : family(type);
            boolean isRelated = !next.isEmpty() && next.get(next.size() - 1) == last.get(last.size() - 1);
            for (Class<?> each : next) {
                isRelated &= !entered.contains(each) || last.contains(each);
            }
            if (!isRelated) {
                break;
            }
            entered.addAll(next);
            last = next;
        }
        return at;
    }

    /**
     * The end of the lines that one execution can run: those of one class or file or, where a suite has an engine of its
     * own, of all its files; as long as none would have to be entered a second time.
     */
    private static int endOfEngine(List<String> plan, int start) {
        String suite = suite(uniqueId(plan.get(start)));
        String last = className(plan.get(start));
        Set<String> entered = new HashSet<>();
        int at = start;
        for (; at < plan.size() && uniqueId(plan.get(at)) != null; at++) {
            String name = className(plan.get(at));
            boolean isNew = !name.equals(last);
            if (isNew && (suite == null || !suite.equals(suite(uniqueId(plan.get(at)))) || entered.contains(name))) {
                break;
            }
            entered.add(name);
            last = name;
        }
        return at;
    }

    /** What stands before the engine in a unique id of a suite; null outside of one. */
    private static String suite(String uniqueId) {
        int engine = uniqueId.lastIndexOf("/[engine:");
        return engine < 0 ? null : uniqueId.substring(0, engine);
    }

    /** The class and those that JUnit nests it in, innermost first. */
    private static List<Class<?>> family(Class<?> type) {
        List<Class<?>> family = new ArrayList<>();
        Class<?> each = type;
        family.add(each);
        while (isNested(each)) {
            each = each.getDeclaringClass();
            family.add(each);
        }
        return family;
    }

    private static boolean isNested(Class<?> type) {
        if (type.getDeclaringClass() == null || Modifier.isStatic(type.getModifiers())) {
            return false;
        }
        for (Annotation annotation : type.getAnnotations()) {
            if (annotation.annotationType().getName().equals("org.junit.jupiter.api.Nested")) {
                return true;
            }
        }
        return false;
    }

    private void flush(Set<Class<?>> whole) throws Throwable {
        if (!whole.isEmpty()) {
            platform().runClasses(whole);
            whole.clear();
        }
    }

    private Platform platform() throws ReflectiveOperationException {
        if (platform == null) {
            platform = new Platform(loader, results);
        }
        return platform;
    }

    /** The test of a line, without its unique id. */
    static String test(String line) {
        int tab = line.indexOf('\t');
        return tab < 0 ? line : line.substring(0, tab);
    }

    /** The methods that lines name; none for whole classes. */
    static List<String> methods(List<String> lines) {
        List<String> methods = new ArrayList<>();
        for (String line : lines) {
            if (line.indexOf('#') >= 0) {
                methods.add(line.substring(line.indexOf('#') + 1));
            }
        }
        return methods;
    }

    /** The unique id of a line; null where class and method are enough. */
    static String uniqueId(String line) {
        int tab = line.indexOf('\t');
        return tab < 0 ? null : line.substring(tab + 1);
    }

    private static String className(String line) {
        int hash = line.indexOf('#');
        return hash < 0 ? line : line.substring(0, hash);
    }

    private Class<?> find(String name) {
        return find(name, loader);
    }

    /** The class, not initialised; null where there is none. */
    static Class<?> find(String name, ClassLoader loader) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError missing) {
            return null;
        }
    }
}
