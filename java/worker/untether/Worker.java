package untether;

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
 * Runs tests of the class path without a build tool: {@code Worker PLAN [RESULTS STARTER]}.
 *
 * <p>The plan has one test class per line, or one test as {@code class#method}; neighbouring lines of one
 * class and of the classes that JUnit nests in it form one class run: exactly these methods, in this order, with
 * the class's fixtures around them.
 * {@link Results} describes what is written. Test frameworks are reached by reflection only: the worker is
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
        List<String> plan = Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.UTF_8);
        Results results = new Results(arguments.length > 1 ? arguments[1] : null);
        if (arguments.length > 2) {
            endWith(Long.parseLong(arguments[2]));
        }
        new Worker(results).run(plan);
        results.done();
        System.out.flush();
        // Tests may have left threads behind; like a build tool's worker, we do not wait for them.
        System.exit(results.failed > 0 ? 1 : results.ran == 0 ? 4 : 0);
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

    private void run(List<String> plan) throws Throwable {
        // Neighbouring whole classes that the Platform executes in one go, as a build tool would.
        Set<Class<?>> whole = new LinkedHashSet<>();
        int at = 0;
        while (at < plan.size()) {
            String name = className(plan.get(at));
            int start = at;
            List<String> methods = new ArrayList<>();
            for (; at < plan.size() && className(plan.get(at)).equals(name); at++) {
                String line = plan.get(at);
                if (line.indexOf('#') >= 0) {
                    methods.add(line.substring(line.indexOf('#') + 1));
                }
            }
            Class<?> type = find(name);
            boolean isOld = type != null && JUnit4.isTestClass(type, loader);
            if (type != null && methods.isEmpty() && hasPlatform && (hasVintage || !isOld)) {
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
            if (type == null) {
                System.err.println("untether: cannot load test class " + name);
                results.failed(name, "missing", new ClassNotFoundException(name));
            } else if (!isOld && hasPlatform) {
                platform().runMethods(plan.subList(start, at));
            } else if (!isOld) {
                results.failed(name, "missing", null);
            } else if (!methods.isEmpty() && JUnit3.isTestClass(type, loader)) {
                new JUnit3(loader, results).run(type, methods);
            } else {
                new JUnit4(loader, results).run(type, methods);
            }
            results.classEnded(name);
        }
        flush(whole);
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
