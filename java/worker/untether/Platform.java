package untether;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** Class runs through the JUnit Platform. */
final class Platform implements Runner {
    private static final String CORE = "org.junit.platform.launcher.core.";

    private final ClassLoader loader;
    private final Results results;
    private final Object launcher;

    /** The execution's plan, which knows what stands above a test. */
    private Object plan;

    /** Those tests that engines offered. */
    private final Set<String> found = new HashSet<>();

    /** What can be run by itself, by unique id, with its name. */
    private final Map<String, String> named = new HashMap<>();

    Platform(ClassLoader loader, Results results) throws ReflectiveOperationException {
        this.loader = loader;
        this.results = results;
        this.launcher = type(CORE + "LauncherFactory").getMethod("create").invoke(null);
    }

    private Class<?> type(String name) throws ClassNotFoundException {
        return Class.forName(name, true, loader);
    }

    /** Runs whole classes in one go. */
    void runClasses(Collection<Class<?>> classes) throws Throwable {
        List<Object> selected = new ArrayList<>();
        for (Class<?> each : classes) {
            selected.add(selectors().getMethod("selectClass", Class.class).invoke(null, each));
        }
        Class<?> builderType = type(CORE + "LauncherDiscoveryRequestBuilder");
        execute(builderType, builder(builderType, selected));
    }

    /** One execution; tests are given as {@code class#method} or by their unique ids. */
    @Override
    public void run(Class<?> type, List<String> lines) throws Throwable {
        Set<Object> selected = new LinkedHashSet<>();
        List<String> tests = new ArrayList<>();
        named.clear();
        for (String line : lines) {
            String test = Worker.test(line);
            String uniqueId = Worker.uniqueId(line);
            tests.add(test);
            if (uniqueId != null) {
                named.put(uniqueId, test);
                selected.add(selectors().getMethod("selectUniqueId", String.class).invoke(null, uniqueId));
            } else if (test.indexOf('#') >= 0) {
                selected.addAll(selectMethods(test));
            }
        }
        Class<?> builderType = type(CORE + "LauncherDiscoveryRequestBuilder");
        Object builder = builder(builderType, new ArrayList<>(selected));
        Method parameter = builderType.getMethod("configurationParameter", String.class, String.class);
        // The order of a class run means nothing if its tests run side by side.
        parameter.invoke(builder, "junit.jupiter.execution.parallel.enabled", "false");
        parameter.invoke(builder, "cucumber.execution.parallel.enabled", "false");
        // Otherwise it tries first what failed last, in whatever order that was.
        parameter.invoke(builder, "jqwik.database", System.getProperty("java.io.tmpdir") + "/.jqwik-database");
        Class<?> anyFilter = type("org.junit.platform.engine.Filter");
        Object filters = java.lang.reflect.Array.newInstance(anyFilter, 1);
        java.lang.reflect.Array.set(filters, 0, orderFilter(tests));
        builderType.getMethod("filters", filters.getClass()).invoke(builder, filters);
        found.clear();
        execute(builderType, builder);
        for (String test : tests) {
            if (test.indexOf('#') >= 0 && !found.contains(test)) {
                results.missing(test, "its engine does not find it by itself");
            }
        }
    }

    /** The methods of that name, or the whole class where the test is none: what is not asked for is left out later. */
    private List<Object> selectMethods(String test) throws ReflectiveOperationException {
        int hash = test.indexOf('#');
        Class<?> owner = Class.forName(test.substring(0, hash), false, loader);
        List<Object> selected = new ArrayList<>();
        for (Method method : methods(owner, test.substring(hash + 1))) {
            selected.add(selectors().getMethod("selectMethod", Class.class, Method.class).invoke(null, owner, method));
        }
        if (selected.isEmpty()) {
            selected.add(selectors().getMethod("selectClass", Class.class).invoke(null, owner));
        }
        return selected;
    }

    private Class<?> selectors() throws ClassNotFoundException {
        return type("org.junit.platform.engine.discovery.DiscoverySelectors");
    }

    private static Object builder(Class<?> type, List<Object> selected) throws ReflectiveOperationException {
        Object builder = type.getMethod("request").invoke(null);
        type.getMethod("selectors", List.class).invoke(builder, selected);
        return builder;
    }

    private void execute(Class<?> builderType, Object builder) throws ReflectiveOperationException {
        Object request = builderType.getMethod("build").invoke(builder);
        Class<?> requestType = type("org.junit.platform.launcher.LauncherDiscoveryRequest");
        Class<?> listenerType = type("org.junit.platform.launcher.TestExecutionListener");
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {listenerType}, this::event);
        Object listeners = java.lang.reflect.Array.newInstance(listenerType, 1);
        java.lang.reflect.Array.set(listeners, 0, listener);
        type("org.junit.platform.launcher.Launcher")
                .getMethod("execute", requestType, listeners.getClass())
                .invoke(launcher, request, listeners);
    }

    /** All methods of that name that the class has, overloads included, but none that is overridden. */
    private static List<Method> methods(Class<?> owner, String name) {
        List<Method> found = new ArrayList<>();
        List<Class<?>> types = new ArrayList<>();
        for (Class<?> at = owner; at != null; at = at.getSuperclass()) {
            types.add(at);
        }
        for (int i = 0; i < types.size(); i++) {
            for (Class<?> parent : types.get(i).getInterfaces()) {
                if (!types.contains(parent)) {
                    types.add(parent);
                }
            }
        }
        for (Class<?> at : types) {
            for (Method method : at.getDeclaredMethods()) {
                boolean isNew = method.getName().equals(name) && !method.isBridge();
                for (Method other : found) {
                    isNew &= !java.util.Arrays.equals(other.getParameterTypes(), method.getParameterTypes());
                }
                if (isNew) {
                    found.add(method);
                }
            }
        }
        return found;
    }

    // ---- the order of methods, whatever the class asks for

    private Object orderFilter(List<String> tests) throws ReflectiveOperationException {
        Class<?> filterType = type("org.junit.platform.launcher.PostDiscoveryFilter");
        Class<?> resultType = type("org.junit.platform.engine.FilterResult");
        Object included = resultType.getMethod("included", String.class).invoke(null, "");
        Object excluded = resultType.getMethod("excluded", String.class).invoke(null, "");
        Predicate<Object> isWanted = descriptor -> {
            try {
                return arrange(descriptor, tests);
            } catch (ReflectiveOperationException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        };
        return Proxy.newProxyInstance(loader, new Class<?>[] {filterType}, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "apply":
                    return isWanted.test(arguments[0]) ? included : excluded;
                case "toPredicate":
                    return isWanted;
                default:
                    return objectMethod(proxy, method, arguments);
            }
        });
    }

    /** Sorts what stands below the descriptor; whether the descriptor is wanted at all. */
    private boolean arrange(Object descriptor, List<String> tests) throws ReflectiveOperationException {
        UntetherNames names = new UntetherNames(descriptor, null);
        if (names.hasHolder()) {
            // Siblings of equal names are told apart while they are all there.
            String test = named.computeIfAbsent(names.holderId(), unknown -> methodOf(names));
            found.add(test);
            return tests.contains(test);
        }
        Class<?> type = type("org.junit.platform.engine.TestDescriptor");
        List<Object> children = new ArrayList<>((Collection<?>) UntetherNames.call(descriptor, "getChildren"));
        Map<Object, Integer> ranks = new IdentityHashMap<>();
        for (Object child : children) {
            ranks.put(child, rank(child, tests));
        }
        List<Object> ordered = new ArrayList<>(children);
        ordered.sort(Comparator.comparing(ranks::get));
        for (Object child : children) {
            type.getMethod("removeChild", type).invoke(descriptor, child);
        }
        for (Object child : ordered) {
            type.getMethod("addChild", type).invoke(descriptor, child);
        }
        return true;
    }

    /** Where the descriptor's first test stands in the list. */
    private int rank(Object descriptor, List<String> tests) throws ReflectiveOperationException {
        UntetherNames names = new UntetherNames(descriptor, null);
        if (names.hasHolder()) {
            int at = tests.indexOf(named.computeIfAbsent(names.holderId(), unknown -> methodOf(names)));
            return at < 0 ? tests.size() : at;
        }
        int first = tests.size();
        for (Object child : (Collection<?>) UntetherNames.call(descriptor, "getChildren")) {
            first = Math.min(first, rank(child, tests));
        }
        return first;
    }

    private static String methodOf(UntetherNames names) {
        try {
            return names.method();
        } catch (ReflectiveOperationException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    // ---- events

    private Object event(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "testPlanExecutionStarted":
                plan = arguments[0];
                return null;
            case "executionStarted":
                if (isTest(arguments[0])) {
                    results.started(idOf(arguments[0]));
                }
                return null;
            case "executionFinished":
                finished(arguments[0], arguments[1]);
                return null;
            case "executionSkipped":
                String id = idOf(arguments[0]);
                if (isTest(arguments[0]) || id.indexOf('#') >= 0) {
                    results.skipped(id, String.valueOf(arguments[1]));
                } else {
                    results.failed(id, Results.SKIPPED, null);
                }
                return null;
            default:
                return objectMethod(proxy, method, arguments);
        }
    }

    private void finished(Object identifier, Object result) throws ReflectiveOperationException {
        String status = UntetherNames.call(result, "getStatus").toString();
        Optional<?> thrown = (Optional<?>) UntetherNames.call(result, "getThrowable");
        String id = idOf(identifier);
        if (!status.equals("SUCCESSFUL")) {
            results.failed(id, status.equals("ABORTED") ? Results.ABORTED : Results.FAILED, (Throwable) thrown.orElse(null));
        }
        if (isTest(identifier)) {
            results.finished(id);
        }
    }

    private static boolean isTest(Object identifier) throws ReflectiveOperationException {
        return (Boolean) UntetherNames.call(identifier, "isTest");
    }

    /** A test as {@code untether detect} names it; a class or file by its own name, everything else by its unique id. */
    private String idOf(Object identifier) throws ReflectiveOperationException {
        UntetherNames names = new UntetherNames(identifier, plan);
        if (names.hasHolder() || isTest(identifier)) {
            String known = names.hasHolder() ? named.get(names.holderId()) : null;
            return known == null ? names.test() : known + names.invocation();
        }
        return names.owner() == null ? UntetherNames.uniqueId(identifier) : names.owner();
    }

    /** Calls that a proxy gets besides those of its own interface. */
    static Object objectMethod(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
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
}
