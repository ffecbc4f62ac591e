package untether;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How tests of the JUnit Platform are named, whatever their engine: {@code class#method}, {@code class#group > name}
 * or {@code some.feature#name}, with a number in brackets where one of these runs several times.
 *
 * <p>The watching runtime and the worker must agree, so this file is compiled into both (the builds put it into the
 * package {@code java.lang} or {@code untether}). It knows the Platform by the names of its methods only. A node is a
 * {@code TestDescriptor}, which knows its parent, or a {@code TestIdentifier}, whose parent a {@code TestPlan} knows.
 */
final class UntetherNames {
    /** Engines that tell the Platform of no test before it runs: their classes are run as a whole. */
    private static final String[] WHOLE = {"kotest"};

    /** Engines whose tests are found again by class and method. */
    private static final String[] BY_METHOD = {"junit-jupiter", "junit-vintage"};

    /** From the engine's first node to the one in question. */
    private final List<Object> path = new ArrayList<>();
    private final Object plan;
    private final String engine;

    /** The node that stands for the class, and the name that it goes by. */
    private int owner = -1;
    private String ownerName;

    /** The smallest node that can be run by itself; what is below it are its invocations. -1 if it is further down. */
    private int holder = -1;

    /** The plan is null for descriptors. */
    UntetherNames(Object node, Object plan) throws ReflectiveOperationException {
        this.plan = plan;
        String name = "";
        for (Object at = node; at != null; at = parent(at)) {
            String segment = lastSegment(at);
            if (segment.startsWith("engine:")) {
                name = segment.substring("engine:".length());
                break;
            }
            path.add(0, at);
        }
        engine = name;
        findOwner();
        findHolder();
    }

    private void findOwner() throws ReflectiveOperationException {
        for (int at = 0; at < path.size(); at++) {
            String found = classOf(path.get(at));
            if (found != null && !found.equals(ownerName)) {
                owner = at;
                ownerName = found;
            }
        }
        for (int at = 0; owner < 0 && at < path.size(); at++) {
            String found = fileOf(path.get(at));
            if (found != null) {
                owner = at;
                ownerName = found.replace('#', '_');
            }
        }
        if (owner < 0 && path.size() > 1) {
            owner = 0;
            ownerName = value(path.get(0)).replace('#', '_');
        }
    }

    private void findHolder() throws ReflectiveOperationException {
        if (is(engine, WHOLE)) {
            holder = owner;
            return;
        }
        for (int at = owner + 1; at < path.size() && holder < 0; at++) {
            Object node = path.get(at);
            if ((Boolean) call(node, "isTest") || isNamed(source(node), "MethodSource")) {
                holder = at;
            }
        }
    }

    /** The class, or the file, that the node belongs to; null for engines. */
    String owner() {
        return ownerName;
    }

    /** Whether the node itself is the class or file. */
    boolean isOwner() {
        return owner >= 0 && owner == path.size() - 1;
    }

    /** Whether the node is the one that can be run by itself. */
    boolean isHolder() {
        return holder >= 0 && holder == path.size() - 1;
    }

    boolean hasHolder() {
        return holder >= 0;
    }

    boolean isOf(String name) {
        return engine.equals(name);
    }

    /** The engine, if it tells the Platform of no test before it runs; otherwise null. */
    String wholeEngine() {
        return is(engine, WHOLE) ? engine : null;
    }

    /** The unique id of the node that can be run by itself; null where class and method name it. */
    String selector() throws ReflectiveOperationException {
        return holder < 0 || is(engine, BY_METHOD) || is(engine, WHOLE) ? null : uniqueId(path.get(holder));
    }

    /** The unique id of the node that can be run by itself, in any engine. */
    String holderId() throws ReflectiveOperationException {
        return holder < 0 ? null : uniqueId(path.get(holder));
    }

    /** The name of the node as a test. */
    String test() throws ReflectiveOperationException {
        Object node = path.get(path.size() - 1);
        if (engine.equals("junit-vintage") && ownerName != null) {
            String method = (String) call(node, "getLegacyReportingName");
            int parameters = method.indexOf('(');
            return ownerName + "#" + (parameters > 0 ? method.substring(0, parameters) : method);
        }
        return holder < 0 ? uniqueId(node) : method() + invocation();
    }

    /** The same without the invocation. */
    String method() throws ReflectiveOperationException {
        if (is(engine, WHOLE)) {
            String segment = lastSegment(path.get(holder));
            return ownerName + "#" + segment.substring(0, Math.max(segment.indexOf(':'), 0));
        }
        StringBuilder name = new StringBuilder();
        name.append(ownerName == null ? value(path.get(0)) : ownerName).append('#');
        for (int at = owner + 1; at <= holder; at++) {
            if (number(path.get(at)) == null) {
                name.append(at == holder ? "" : label(path.get(at)) + " > ");
            }
        }
        String label = label(path.get(holder));
        name.append(label);
        if (hasTwin(label)) {
            name.append(" (").append(value(path.get(holder))).append(')');
        }
        return name.toString();
    }

    /** Which of several, as {@code [2]}; nothing for a test that runs once. */
    String invocation() throws ReflectiveOperationException {
        StringBuilder text = new StringBuilder();
        if (is(engine, WHOLE)) {
            for (int at = holder + 1; at < path.size(); at++) {
                text.append(at == holder + 1 ? "[" : " > ").append(label(path.get(at)));
            }
            return text.length() == 0 ? "" : text.append(']').toString();
        }
        for (int at = 0; at < path.size(); at++) {
            String number = number(path.get(at));
            if (number == null && at > holder) {
                number = value(path.get(at));
            }
            if (number != null) {
                text.append('[').append(number).append(']');
            }
        }
        return text.toString();
    }

    /** Overloads of a method are one test; other tests of equal names are told apart. */
    private boolean hasTwin(String label) throws ReflectiveOperationException {
        Object node = path.get(holder);
        Object above = parent(node);
        if (above == null || isNamed(source(node), "MethodSource")) {
            return false;
        }
        for (Object sibling : children(above)) {
            if (!uniqueId(sibling).equals(uniqueId(node)) && label(sibling).equals(label)) {
                return true;
            }
        }
        return false;
    }

    private static String label(Object node) throws ReflectiveOperationException {
        Object source = source(node);
        String segment = lastSegment(node);
        String label = isNamed(source, "MethodSource")
                ? (String) call(source, "getMethodName")
                : segment.startsWith("field:") ? segment.substring("field:".length())
                : (String) call(node, "getDisplayName");
        return oneLine(label);
    }

    /** Brackets are for invocations, and a name is one line. */
    private static String oneLine(String text) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean isSpace = c <= ' ';
            if (!isSpace) {
                line.append(c == '[' ? '(' : c == ']' ? ')' : c);
            } else if (line.length() > 0 && line.charAt(line.length() - 1) != ' ') {
                line.append(' ');
            }
        }
        return line.toString().trim();
    }

    /** Jupiter's invocations are numbered: {@code [test-template-invocation:#2]}. */
    private static String number(Object node) throws ReflectiveOperationException {
        String value = value(node);
        return value.startsWith("#") ? value.substring(1) : null;
    }

    private static String classOf(Object node) throws ReflectiveOperationException {
        Object source = source(node);
        boolean isClass = isNamed(source, "ClassSource");
        boolean isOldTest = isNamed(source, "MethodSource") && uniqueId(node).contains("[engine:junit-vintage]");
        return isClass || isOldTest ? (String) call(source, "getClassName") : null;
    }

    private static String fileOf(Object node) throws ReflectiveOperationException {
        Object source = source(node);
        if (isNamed(source, "ClasspathResourceSource")) {
            return (String) call(source, "getClasspathResourceName");
        }
        if (isNamed(source, "FileSource") && has(source, "getUri")) {
            String file = call(source, "getUri").toString();
            String folder = new java.io.File("").toURI().toString();
            return file.startsWith(folder) ? file.substring(folder.length()) : file;
        }
        return null;
    }

    /** Whether the node is a test, and not only a container of tests that it has yet to make. */
    static boolean isTest(Object node) throws ReflectiveOperationException {
        return (Boolean) call(node, "isTest")
                && !((Boolean) call(node, "isContainer") && has(node, "mayRegisterTests")
                        && (Boolean) call(node, "mayRegisterTests"));
    }

    static String uniqueId(Object node) throws ReflectiveOperationException {
        return call(node, "getUniqueId").toString();
    }

    private Object parent(Object node) throws ReflectiveOperationException {
        return optional(plan == null ? call(node, "getParent") : call(plan, "getParent", node));
    }

    private Collection<?> children(Object node) throws ReflectiveOperationException {
        return (Collection<?>) (plan == null ? call(node, "getChildren") : call(plan, "getChildren", node));
    }

    private static Object source(Object node) throws ReflectiveOperationException {
        return optional(call(node, "getSource"));
    }

    private static String value(Object node) throws ReflectiveOperationException {
        String segment = lastSegment(node);
        return segment.substring(segment.indexOf(':') + 1);
    }

    /** {@code type:value} at the end of the unique id. */
    private static String lastSegment(Object node) throws ReflectiveOperationException {
        String id = uniqueId(node);
        // A slash within a value is encoded.
        String segment = id.substring(id.lastIndexOf('/') + 1);
        segment = segment.startsWith("[") ? segment.substring(1, segment.length() - 1) : segment;
        if (segment.indexOf('%') < 0) {
            return segment;
        }
        try {
            return java.net.URLDecoder.decode(segment, "UTF-8");
        } catch (java.io.UnsupportedEncodingException | IllegalArgumentException plain) {
            return segment;
        }
    }

    private static boolean is(String name, String[] names) {
        for (String each : names) {
            if (each.equals(name)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isNamed(Object object, String simpleName) {
        return object != null && object.getClass().getName().endsWith("." + simpleName);
    }

    private static Object optional(Object maybe) {
        return ((Optional<?>) maybe).orElse(null);
    }

    // ---- reflection: only what the Platform offers to everybody

    private static final ConcurrentHashMap<Class<?>, HashMap<String, Method>> methods = new ConcurrentHashMap<>();

    static Object call(Object object, String name, Object... arguments) throws ReflectiveOperationException {
        Class<?> type = object.getClass();
        HashMap<String, Method> known = methods.get(type);
        Method method = known == null ? null : known.get(name);
        if (method == null) {
            method = find(type, name, arguments.length);
            if (method == null) {
                throw new NoSuchMethodException(type.getName() + "." + name);
            }
            HashMap<String, Method> more = known == null ? new HashMap<>() : new HashMap<>(known);
            more.put(name, method);
            methods.put(type, more);
        }
        return method.invoke(object, arguments);
    }

    private static boolean has(Object object, String name) {
        return find(object.getClass(), name, 0) != null;
    }

    /** The method as a public class or interface declares it. */
    private static Method find(Class<?> type, String name, int parameters) {
        if (type == null) {
            return null;
        }
        for (Method method : Modifier.isPublic(type.getModifiers()) ? type.getDeclaredMethods() : new Method[0]) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters && !method.isBridge()
                    && Modifier.isPublic(method.getModifiers())
                    && type.getModule().isExported(type.getPackageName())) {
                return method;
            }
        }
        for (Class<?> parent : type.getInterfaces()) {
            Method method = find(parent, name, parameters);
            if (method != null) {
                return method;
            }
        }
        return find(type.getSuperclass(), name, parameters);
    }
}
