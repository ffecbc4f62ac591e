package untether;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs tests of the class path without a build tool: {@code Worker PLAN [RESULTS]}.
 *
 * <p>The plan has one test class per line, or one test as {@code class#method}; neighbouring lines of one
 * class form one class run: exactly these methods, in this order, with the class's fixtures around them.
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
        if (arguments.length > 1) {
            endWithParent();
        }
        new Worker(results).run(plan);
        results.done();
        System.out.flush();
        // Tests may have left threads behind; like a build tool's worker, we do not wait for them.
        System.exit(results.failed > 0 ? 1 : results.ran == 0 ? 4 : 0);
    }

    /** A worker whose starter was killed would run on, with a test that hangs for ever. */
    private static void endWithParent() {
        ProcessHandle parent = ProcessHandle.current().parent().orElse(null);
        Thread watch = new Thread(() -> {
            while (parent == null || parent.isAlive()) {
                try {
                    Thread.sleep(500);
                } catch (InterruptedException ignored) {
                    // Only the parent's end counts.
                }
            }
            Runtime.getRuntime().halt(5);
        }, "untether");
        watch.setDaemon(true);
        watch.start();
    }

    private void run(List<String> plan) throws Throwable {
        // Neighbouring whole classes that the Platform executes in one go, as a build tool would.
        Map<Class<?>, List<String>> whole = new LinkedHashMap<>();
        int at = 0;
        while (at < plan.size()) {
            String name = className(plan.get(at));
            List<String> methods = new ArrayList<>();
            while (at < plan.size() && className(plan.get(at)).equals(name)) {
                String line = plan.get(at++);
                if (line.indexOf('#') >= 0) {
                    methods.add(line.substring(line.indexOf('#') + 1));
                }
            }
            Class<?> type = find(name);
            if (type == null) {
                System.err.println("untether: cannot load test class " + name);
                flush(whole);
                results.classStarted(name);
                results.failed(name, "missing", new ClassNotFoundException(name));
                results.classEnded(name);
                continue;
            }
            boolean isOld = JUnit4.isTestClass(type, loader);
            if (methods.isEmpty() && hasPlatform && (hasVintage || !isOld)) {
                if (whole.containsKey(type)) {
                    flush(whole);
                }
                whole.put(type, methods);
                continue;
            }
            flush(whole);
            if (isOld || hasPlatform) {
                runClass(type, methods, isOld);
            } else {
                results.classStarted(name);
                results.failed(name, "missing", null);
                results.classEnded(name);
            }
        }
        flush(whole);
    }

    private void runClass(Class<?> type, List<String> methods, boolean isOld) throws Throwable {
        results.classStarted(type.getName());
        if (!isOld) {
            Map<Class<?>, List<String>> one = new LinkedHashMap<>();
            one.put(type, methods);
            platform().run(one);
        } else if (!methods.isEmpty() && JUnit3.isTestClass(type, loader)) {
            new JUnit3(loader, results).run(type, methods);
        } else {
            new JUnit4(loader, results).run(type, methods);
        }
        results.classEnded(type.getName());
    }

    private void flush(Map<Class<?>, List<String>> whole) throws Throwable {
        if (!whole.isEmpty()) {
            platform().run(whole);
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
