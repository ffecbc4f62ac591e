package untether;

import java.io.PrintStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs tests of the class path without a build tool: {@code Worker PLAN [RESULT]}.
 *
 * <p>The plan has one test class per line, or one test as {@code class#method}; neighbouring lines of one
 * class form one class run. The result file, if asked for, gets a line per test. JUnit is reached by
 * reflection only: this class is on the boot class path, where no library is.
 */
public final class Worker {
    private final ClassLoader loader = ClassLoader.getSystemClassLoader();
    private final PrintStream results;
    private int failed;
    private int ran;

    private Worker(PrintStream results) {
        this.results = results;
    }

    public static void main(String[] arguments) throws Throwable {
        List<String> plan = Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.UTF_8);
        PrintStream results = arguments.length > 1 ? new PrintStream(arguments[1], "UTF-8") : null;
        Worker worker = new Worker(results);
        worker.run(plan);
        if (results != null) {
            results.println("done");
            results.close();
        }
        System.out.flush();
        // Tests may have left threads behind; like a build tool's worker, we do not wait for them.
        System.exit(worker.failed > 0 ? 1 : worker.ran == 0 ? 4 : 0);
    }

    private void run(List<String> plan) throws Throwable {
        boolean hasPlatform = find("org.junit.platform.launcher.core.LauncherFactory") != null;
        boolean hasVintage = find("org.junit.vintage.engine.VintageTestEngine") != null;
        // Class runs that the Platform executes in one go.
        Map<Class<?>, List<String>> platform = new LinkedHashMap<>();
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
                failed++;
                continue;
            }
            boolean isOld = isJUnit4(type);
            if (!hasPlatform && !isOld) {
                continue;
            }
            if (hasPlatform && (hasVintage || !isOld)) {
                if (platform.containsKey(type)) {
                    flush(platform);
                }
                platform.put(type, methods);
            } else {
                flush(platform);
                runJUnit4(type, methods);
            }
        }
        flush(platform);
    }

    private static String className(String line) {
        int hash = line.indexOf('#');
        return hash < 0 ? line : line.substring(0, hash);
    }

    private Class<?> find(String name) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError missing) {
            return null;
        }
    }

    // ---- JUnit 4 and 3

    private boolean isJUnit4(Class<?> type) {
        if (Modifier.isAbstract(type.getModifiers())) {
            return false;
        }
        Class<?> testCase = find("junit.framework.TestCase");
        if (testCase != null && testCase.isAssignableFrom(type)) {
            return true;
        }
        try {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                if (isAnnotated(at.getDeclaredAnnotations(), "org.junit.runner.RunWith")) {
                    return true;
                }
                for (Method method : at.getDeclaredMethods()) {
                    if (isAnnotated(method.getDeclaredAnnotations(), "org.junit.Test")) {
                        return true;
                    }
                }
            }
            return Modifier.isStatic(type.getMethod("suite").getModifiers());
        } catch (NoSuchMethodException | LinkageError none) {
            return false;
        }
    }

    private static boolean isAnnotated(Annotation[] annotations, String name) {
        for (Annotation annotation : annotations) {
            if (annotation.annotationType().getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    private void runJUnit4(Class<?> type, List<String> methods) throws Throwable {
        Class<?> requestType = Class.forName("org.junit.runner.Request", true, loader);
        Object request = requestType.getMethod("aClass", Class.class).invoke(null, type);
        if (!methods.isEmpty()) {
            Object unordered = request;
            java.util.Comparator<Object> order = (a, b) -> {
                return Integer.compare(position(methods, a), position(methods, b));
            };
            request = requestType.getMethod("sortWith", java.util.Comparator.class).invoke(unordered, order);
        }
        Class<?> coreType = Class.forName("org.junit.runner.JUnitCore", true, loader);
        Object core = coreType.getDeclaredConstructor().newInstance();
        Object result = coreType.getMethod("run", requestType).invoke(core, request);
        ran += (Integer) result.getClass().getMethod("getRunCount").invoke(result);
        List<?> failures = (List<?>) result.getClass().getMethod("getFailures").invoke(result);
        failed += failures.size();
        if (results == null) {
            return;
        }
        for (Object failure : failures) {
            Object description = failure.getClass().getMethod("getDescription").invoke(failure);
            results.println(description + "\tfailed");
        }
        Object ignored = result.getClass().getMethod("getIgnoreCount").invoke(result);
        Object count = result.getClass().getMethod("getRunCount").invoke(result);
        results.println(type.getName() + "\tran " + count + ", ignored " + ignored);
    }

    private static int position(List<String> methods, Object description) {
        try {
            Object name = description.getClass().getMethod("getMethodName").invoke(description);
            int position = methods.indexOf(name);
            return position < 0 ? Integer.MAX_VALUE : position;
        } catch (ReflectiveOperationException unnamed) {
            return Integer.MAX_VALUE;
        }
    }

    // ---- the JUnit Platform

    private void flush(Map<Class<?>, List<String>> classes) throws Throwable {
        if (classes.isEmpty()) {
            return;
        }
        Class<?> selectors = Class.forName("org.junit.platform.engine.discovery.DiscoverySelectors", true, loader);
        List<Object> selected = new ArrayList<>();
        for (Map.Entry<Class<?>, List<String>> entry : classes.entrySet()) {
            if (entry.getValue().isEmpty()) {
                selected.add(selectors.getMethod("selectClass", Class.class).invoke(null, entry.getKey()));
            }
            for (String method : entry.getValue()) {
                selected.add(selectors.getMethod("selectMethod", Class.class, String.class)
                        .invoke(null, entry.getKey(), method));
            }
        }
        classes.clear();
        String core = "org.junit.platform.launcher.core.";
        Class<?> builderType = Class.forName(core + "LauncherDiscoveryRequestBuilder", true, loader);
        Object builder = builderType.getMethod("request").invoke(null);
        builderType.getMethod("selectors", List.class).invoke(builder, selected);
        Object request = builderType.getMethod("build").invoke(builder);
        Class<?> requestType = Class.forName("org.junit.platform.launcher.LauncherDiscoveryRequest", true, loader);
        Class<?> listenerType = Class.forName("org.junit.platform.launcher.TestExecutionListener", true, loader);
        Class<?> launcherType = Class.forName("org.junit.platform.launcher.Launcher", true, loader);
        Object launcher = Class.forName(core + "LauncherFactory", true, loader).getMethod("create").invoke(null);
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {listenerType}, this::platformEvent);
        Object listeners = java.lang.reflect.Array.newInstance(listenerType, 1);
        java.lang.reflect.Array.set(listeners, 0, listener);
        launcherType.getMethod("execute", requestType, listeners.getClass()).invoke(launcher, request, listeners);
    }

    private Object platformEvent(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "executionFinished":
                Object status = arguments[1].getClass().getMethod("getStatus").invoke(arguments[1]);
                report(arguments[0], status.toString());
                return null;
            case "executionSkipped":
                report(arguments[0], "SKIPPED");
                return null;
            case "hashCode":
                return System.identityHashCode(proxy);
            case "equals":
                return proxy == arguments[0];
            case "toString":
                return "untether.Worker";
            default:
                return null;
        }
    }

    private void report(Object identifier, String status) throws ReflectiveOperationException {
        boolean isTest = (Boolean) identifier.getClass().getMethod("isTest").invoke(identifier);
        boolean isFailed = status.equals("FAILED");
        if (isTest) {
            ran++;
        }
        failed += isFailed ? 1 : 0;
        if (results != null && (isTest || isFailed)) {
            results.println(identifier.getClass().getMethod("getUniqueId").invoke(identifier) + "\t" + status);
        }
    }
}
