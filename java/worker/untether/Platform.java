package untether;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/** Class runs through the JUnit Platform. */
final class Platform {
    private static final String CORE = "org.junit.platform.launcher.core.";

    private final ClassLoader loader;
    private final Results results;
    private final Object launcher;

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

    /** Runs tests, given as {@code class#method}, of one class and those nested in it, in this order. */
    void runMethods(List<String> tests) throws Throwable {
        List<Object> selected = new ArrayList<>();
        for (String test : tests) {
            int hash = test.indexOf('#');
            if (hash < 0) {
                continue;
            }
            Class<?> owner = Class.forName(test.substring(0, hash), false, loader);
            for (Method method : methods(owner, test.substring(hash + 1))) {
                selected.add(selectors().getMethod("selectMethod", Class.class, Method.class)
                        .invoke(null, owner, method));
            }
        }
        Class<?> builderType = type(CORE + "LauncherDiscoveryRequestBuilder");
        Object builder = builder(builderType, selected);
        // The order of a class run means nothing if its tests run side by side.
        builderType.getMethod("configurationParameter", String.class, String.class)
                .invoke(builder, "junit.jupiter.execution.parallel.enabled", "false");
        Class<?> anyFilter = type("org.junit.platform.engine.Filter");
        Object filters = java.lang.reflect.Array.newInstance(anyFilter, 1);
        java.lang.reflect.Array.set(filters, 0, orderFilter(tests));
        builderType.getMethod("filters", filters.getClass()).invoke(builder, filters);
        execute(builderType, builder);
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
        Object included = type("org.junit.platform.engine.FilterResult")
                .getMethod("included", String.class)
                .invoke(null, "");
        Predicate<Object> sorted = descriptor -> {
            sortChildren(descriptor, tests);
            return true;
        };
        return Proxy.newProxyInstance(loader, new Class<?>[] {filterType}, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "apply":
                    sorted.test(arguments[0]);
                    return included;
                case "toPredicate":
                    return sorted;
                default:
                    return objectMethod(proxy, method, arguments);
            }
        });
    }

    private void sortChildren(Object descriptor, List<String> tests) {
        try {
            Class<?> type = type("org.junit.platform.engine.TestDescriptor");
            String id = type.getMethod("getUniqueId").invoke(descriptor).toString();
            if (className(id) == null || methodStart(id) >= 0) {
                return;
            }
            List<Object> children = new ArrayList<>((Collection<?>) type.getMethod("getChildren").invoke(descriptor));
            Map<Object, Integer> ranks = new IdentityHashMap<>();
            for (Object child : children) {
                ranks.put(child, rank(type, child, tests));
            }
            List<Object> ordered = new ArrayList<>(children);
            ordered.sort(Comparator.comparing(ranks::get));
            for (Object child : children) {
                type.getMethod("removeChild", type).invoke(descriptor, child);
            }
            for (Object child : ordered) {
                type.getMethod("addChild", type).invoke(descriptor, child);
            }
        } catch (ReflectiveOperationException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    /** Where the descriptor's first test stands in the list. */
    private static int rank(Class<?> type, Object descriptor, List<String> tests) throws ReflectiveOperationException {
        String id = type.getMethod("getUniqueId").invoke(descriptor).toString();
        if (methodStart(id) >= 0) {
            int at = tests.indexOf(className(id) + "#" + methodName(id));
            return at < 0 ? tests.size() : at;
        }
        int first = tests.size();
        for (Object child : (Collection<?>) type.getMethod("getChildren").invoke(descriptor)) {
            first = Math.min(first, rank(type, child, tests));
        }
        return first;
    }

    // ---- events

    private Object event(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
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
                if (isTest(arguments[0]) || methodStart(uniqueId(arguments[0])) >= 0) {
                    results.skipped(id, String.valueOf(arguments[1]));
                } else {
                    results.failed(id, "skipped", null);
                }
                return null;
            default:
                return objectMethod(proxy, method, arguments);
        }
    }

    private void finished(Object identifier, Object result) throws ReflectiveOperationException {
        String status = result.getClass().getMethod("getStatus").invoke(result).toString();
        Optional<?> thrown = (Optional<?>) result.getClass().getMethod("getThrowable").invoke(result);
        String id = idOf(identifier);
        if (!status.equals("SUCCESSFUL")) {
            results.failed(id, status.equals("ABORTED") ? "aborted" : "failed", (Throwable) thrown.orElse(null));
        }
        if (isTest(identifier)) {
            results.finished(id);
        }
    }

    private static boolean isTest(Object identifier) throws ReflectiveOperationException {
        return (Boolean) identifier.getClass().getMethod("isTest").invoke(identifier);
    }

    private static String uniqueId(Object identifier) throws ReflectiveOperationException {
        return (String) identifier.getClass().getMethod("getUniqueId").invoke(identifier);
    }

    // ---- names, as untether detect gives them

    private static final String[] METHODS = {"[method:", "[test-template:", "[test-factory:"};

    /** Vintage has runners and tests; their names are those of JUnit 4. */
    private String idOf(Object identifier) throws ReflectiveOperationException {
        String id = uniqueId(identifier);
        if (id.startsWith("[engine:junit-vintage]")) {
            Optional<?> source = (Optional<?>) identifier.getClass().getMethod("getSource").invoke(identifier);
            String name = (String) identifier.getClass().getMethod("getLegacyReportingName").invoke(identifier);
            if (source.isPresent()) {
                Object owner = source.get().getClass().getMethod("getClassName").invoke(source.get());
                int parameters = name.indexOf('(');
                return isTest(identifier) ? owner + "#" + (parameters > 0 ? name.substring(0, parameters) : name) : "" + owner;
            }
        }
        String owner = className(id);
        String method = methodName(id);
        if (owner == null) {
            return id;
        }
        if (method == null) {
            return owner;
        }
        StringBuilder name = new StringBuilder(owner).append('#').append(method);
        // Invocations of one method are numbered in the last segments: [test-template-invocation:#2].
        for (int at = id.indexOf(":#", methodStart(id)); at >= 0; at = id.indexOf(":#", at + 1)) {
            int end = id.indexOf(']', at);
            name.append('[').append(id, at + 2, end < 0 ? id.length() : end).append(']');
        }
        return name.toString();
    }

    /** The class in a unique id of Jupiter, with {@code $} before nested ones; null where there is none. */
    private static String className(String id) {
        StringBuilder name = null;
        for (String segment : id.substring(1, id.length() - 1).split("]/\\[")) {
            int colon = segment.indexOf(':');
            String kind = colon < 0 ? "" : segment.substring(0, colon);
            if (kind.equals("class") || kind.equals("class-template")) {
                name = new StringBuilder(segment.substring(colon + 1));
            } else if (name != null && kind.startsWith("nested-class")) {
                name.append('$').append(segment, colon + 1, segment.length());
            }
        }
        return name == null ? null : name.toString();
    }

    private static int methodStart(String id) {
        for (String kind : METHODS) {
            int at = id.indexOf("/" + kind);
            if (at >= 0) {
                return at + 1;
            }
        }
        return -1;
    }

    private static String methodName(String id) {
        int start = methodStart(id);
        if (start < 0) {
            return null;
        }
        String signature = value(id, start);
        int parameters = signature.indexOf('(');
        String name = parameters < 0 ? signature : signature.substring(0, parameters);
        // Methods that are only visible in their package have the declaring class before them.
        return name.substring(name.lastIndexOf('#') + 1);
    }

    /** What stands between the colon and the bracket of the segment that starts here. */
    private static String value(String id, int start) {
        int colon = id.indexOf(':', start);
        int end = id.indexOf(']', colon);
        return id.substring(colon + 1, end < 0 ? id.length() : end);
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
