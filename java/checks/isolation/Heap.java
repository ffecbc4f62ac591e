package isolation;

import java.lang.ref.Reference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Everything that the fields of {@link State} lead to, as text: which objects there are, and what stands in each of them. */
final class Heap {
    /** Counters that only iterators look at, and views that are made on demand: rules say that they are left alone. */
    private static final Set<String> UNWATCHED = Set.of("modCount", "keySet", "values", "entrySet", "navigableKeySet", "descendingMap");

    private final Map<Object, Integer> numbers = new IdentityHashMap<>();
    private final StringBuilder text = new StringBuilder();

    private Heap() {}

    /** Fails unless the heap is as the first class found it. Only a file knows that: all else is put back. */
    static void check() throws Exception {
        Path known = Path.of(System.getProperty("isolation.known"));
        String now = dump();
        if (!Files.exists(known)) {
            Files.writeString(known, now);
        } else if (!Files.readString(known).equals(now)) {
            throw new AssertionError(difference(Files.readString(known), now));
        }
    }

    private static String difference(String before, String now) {
        int at = 0;
        while (at < before.length() && at < now.length() && before.charAt(at) == now.charAt(at)) {
            at++;
        }
        int from = Math.max(0, at - 200);
        return "before: ..." + before.substring(from, Math.min(before.length(), at + 100)) + "...; now: ..."
                + now.substring(from, Math.min(now.length(), at + 100)) + "...";
    }

    private static String dump() throws IllegalAccessException {
        Heap heap = new Heap();
        for (Field field : State.class.getDeclaredFields()) {
            field.setAccessible(true);
            heap.text.append('\n').append(field.getName()).append(" = ");
            heap.add(field.get(null));
        }
        heap.text.append("\nlocal value = ");
        heap.add(State.local.get());
        Map<String, String> properties = new TreeMap<>();
        for (String name : System.getProperties().stringPropertyNames()) {
            if (name.startsWith("state.")) {
                properties.put(name, System.getProperty(name));
            }
        }
        return heap.text.append("\nproperties = ").append(properties).toString();
    }

    private void add(Object object) throws IllegalAccessException {
        if (object == null || object instanceof String || object instanceof Number && isBox(object) || object instanceof Boolean
                || object instanceof Character) {
            text.append(object);
            return;
        }
        Integer known = numbers.get(object);
        if (known != null) {
            text.append('#').append(known);
            return;
        }
        numbers.put(object, numbers.size());
        Class<?> type = object.getClass();
        text.append('#').append(numbers.size() - 1).append(type.getName());
        if (object instanceof Reference || object instanceof Class || object instanceof ThreadLocal) {
            return;
        }
        text.append('{');
        if (type.isArray()) {
            for (int i = 0; i < Array.getLength(object); i++) {
                add(Array.get(object, i));
                text.append(' ');
            }
        }
        for (Class<?> at = type; at != null && !type.isArray(); at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !UNWATCHED.contains(field.getName())) {
                    field.setAccessible(true);
                    text.append(field.getName()).append('=');
                    add(field.get(object));
                    text.append(' ');
                }
            }
        }
        text.append('}');
    }

    private static boolean isBox(Object number) {
        return number.getClass().getPackageName().equals("java.lang");
    }
}
