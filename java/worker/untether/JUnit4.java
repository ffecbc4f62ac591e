package untether;

import java.io.InputStream;
import java.lang.annotation.Annotation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/** Class runs of JUnit 4, with its own runners. */
final class JUnit4 implements Runner {
    private final ClassLoader loader;
    private final Results results;
    private String running;

    JUnit4(ClassLoader loader, Results results) {
        this.loader = loader;
        this.results = results;
    }

    /** Whether JUnit 4, or 3 through it, runs the class. */
    static boolean isTestClass(Class<?> type, ClassLoader loader) {
        if (Modifier.isAbstract(type.getModifiers())) {
            return false;
        }
        if (isAnnotated(type, "org.junit.runner.RunWith") || JUnit3.isTestClass(type, loader)) {
            return true;
        }
        try {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
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

    static boolean isAnnotated(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            if (isAnnotated(at.getDeclaredAnnotations(), name)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAnnotated(Annotation[] annotations, String name) {
        for (Annotation annotation : annotations) {
            if (annotation.annotationType().getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void run(Class<?> type, List<String> lines) throws Throwable {
        List<String> methods = Worker.methods(lines);
        running = type.getName();
        Class<?> requestType = Class.forName("org.junit.runner.Request", true, loader);
        Object request = requestType.getMethod("aClass", Class.class).invoke(null, type);
        if (!methods.isEmpty()) {
            Predicate<String> isWanted = method -> methods.contains(withoutIndex(method));
            Object filter = defined("org.junit.runner.manipulation.Filter", "UntetherFilter")
                    .getConstructor(Predicate.class)
                    .newInstance(isWanted);
            request = requestType.getMethod("filterWith", filter.getClass().getSuperclass()).invoke(request, filter);
            Comparator<Object> order = Comparator.comparingInt(description -> position(methods, description));
            request = requestType.getMethod("sortWith", Comparator.class).invoke(request, order);
            Object runner = requestType.getMethod("getRunner").invoke(request);
            sort(runner, methods);
            Class<?> runnerType = Class.forName("org.junit.runner.Runner", true, loader);
            request = requestType.getMethod("runner", runnerType).invoke(null, runner);
        }
        BiConsumer<String, Object[]> events = this::event;
        Object listener = defined("org.junit.runner.notification.RunListener", "UntetherListener")
                .getConstructor(BiConsumer.class)
                .newInstance(events);
        Class<?> coreType = Class.forName("org.junit.runner.JUnitCore", true, loader);
        Object core = coreType.getConstructor().newInstance();
        coreType.getMethod("addListener", listener.getClass().getSuperclass()).invoke(core, listener);
        coreType.getMethod("run", requestType).invoke(core, request);
    }

    /** A class that fixes its own order cannot be sorted from outside: its runner's children are. */
    private void sort(Object runner, List<String> methods) throws ReflectiveOperationException {
        Class<?> parentType = Worker.find("org.junit.runners.ParentRunner", loader);
        if (parentType == null || !parentType.isInstance(runner)) {
            return;
        }
        Method describe = parentType.getDeclaredMethod("describeChild", Object.class);
        describe.setAccessible(true);
        for (Field field : parentType.getDeclaredFields()) {
            if (!field.getName().equals("filteredChildren") && !field.getName().equals("fFilteredChildren")) {
                continue;
            }
            field.setAccessible(true);
            Object known = field.get(runner);
            if (!(known instanceof Collection)) {
                continue;
            }
            Map<Object, Integer> positions = new IdentityHashMap<>();
            for (Object child : (Collection<?>) known) {
                sort(child, methods);
                positions.put(child, position(methods, describe.invoke(runner, child)));
            }
            List<Object> sorted = new ArrayList<>((Collection<?>) known);
            sorted.sort(Comparator.comparing(positions::get));
            field.set(runner, Collections.unmodifiableList(sorted));
        }
    }

    private void event(String event, Object[] about) {
        String id = about[1] == null ? (String) about[0] : about[0] + "#" + about[1];
        if (id.startsWith("org.junit.runner.manipulation.Filter#")) {
            // The class has no such methods.
            if (event.equals("failed")) {
                results.failed(running, Results.MISSING, (Throwable) about[2]);
            }
            return;
        }
        switch (event) {
            case "started":
                results.started(id);
                break;
            case "finished":
                results.finished(id);
                break;
            case "skipped":
                results.skipped(id, "");
                break;
            default:
                results.failed(id, event.equals("aborted") ? Results.ABORTED : Results.FAILED, (Throwable) about[2]);
        }
    }

    private static int position(List<String> methods, Object description) {
        try {
            Object name = description.getClass().getMethod("getMethodName").invoke(description);
            int position = name == null ? -1 : methods.indexOf(withoutIndex((String) name));
            return position < 0 ? Integer.MAX_VALUE : position;
        } catch (ReflectiveOperationException unnamed) {
            return Integer.MAX_VALUE;
        }
    }

    static String withoutIndex(String method) {
        int bracket = method.indexOf('[');
        return bracket < 0 ? method : method.substring(0, bracket);
    }

    /** A subclass of ours of one of JUnit's classes, in its package and loader. */
    private Class<?> defined(String superclass, String name) throws Exception {
        Class<?> parent = Class.forName(superclass, true, loader);
        String full = parent.getPackageName() + "." + name;
        Class<?> known = Worker.find(full, parent.getClassLoader());
        if (known != null) {
            return known;
        }
        try (InputStream bytes = JUnit4.class.getResourceAsStream("/" + full.replace('.', '/') + ".bytes")) {
            return MethodHandles.privateLookupIn(parent, MethodHandles.lookup()).defineClass(bytes.readAllBytes());
        }
    }
}
