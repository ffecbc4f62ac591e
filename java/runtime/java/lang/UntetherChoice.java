package java.lang;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.NoSuchElementException;
import java.util.Set;

/** Which of the test classes that a build tool hands over are run: whoever waits for this JVM is asked. */
final class UntetherChoice {
    /** Engines whose tests can be taken out of a plan one by one. */
    private static final String ENGINE = "[engine:junit-jupiter]";

    /** Tests to leave out, of classes that are run. */
    private static final HashSet<String> leftTests = new HashSet<>();

    private UntetherChoice() {}

    /** What is left of a set of classes, or an iterator over them that leaves some out; the same object where all are run. */
    static Object of(Object given) {
        if (given instanceof Set) {
            Set<?> classes = (Set<?>) given;
            HashSet<String> left = leftOut(classes);
            if (left.isEmpty()) {
                return given;
            }
            Set<Object> kept = new LinkedHashSet<>();
            for (Object each : classes) {
                if (!left.contains(((Class<?>) each).getName())) {
                    kept.add(each);
                }
            }
            return kept;
        }
        return given instanceof Iterator ? new Chosen((Iterator<?>) given) : given;
    }

    private static HashSet<String> leftOut(Iterable<?> classes) {
        HashSet<String> names = new HashSet<>();
        for (Object each : classes) {
            if (each instanceof Class) {
                names.add(((Class<?>) each).getName());
            }
        }
        HashSet<String> left = new HashSet<>();
        // Who names the tests to run means it.
        if (names.isEmpty() || System.getProperty("test") != null || !UntetherBoundary.isAsking()) {
            return left;
        }
        String[] answer = UntetherNative.ask(names.toArray(new String[0]));
        if (answer != null) {
            for (String name : answer) {
                (name.indexOf('#') < 0 ? left : leftTests).add(name);
            }
        }
        return left;
    }

    /** Takes the tests that are left out from what an engine of the JUnit Platform has found, before anybody is told of them. */
    static void prune(Object discovered) throws ReflectiveOperationException {
        if (leftTests.isEmpty()) {
            return;
        }
        for (Object engine : (Iterable<?>) UntetherNames.call(discovered, "getTestEngines")) {
            Object root = UntetherNames.call(discovered, "getEngineTestDescriptor", engine);
            if (root != null && String.valueOf(UntetherNames.call(root, "getUniqueId")).equals(ENGINE)) {
                pruneBelow(root);
            }
        }
    }

    /** A class that nothing is left of goes as well. */
    private static void pruneBelow(Object node) throws ReflectiveOperationException {
        for (Object child : new ArrayList<>((Collection<?>) UntetherNames.call(node, "getChildren"))) {
            UntetherNames names = new UntetherNames(child, null);
            boolean isLeftOut = names.isHolder() && leftTests.contains(names.method());
            boolean hadAny = !((Collection<?>) UntetherNames.call(child, "getChildren")).isEmpty();
            if (!isLeftOut) {
                pruneBelow(child);
            }
            if (isLeftOut || hadAny && ((Collection<?>) UntetherNames.call(child, "getChildren")).isEmpty()) {
                UntetherNames.call(child, "removeFromHierarchy");
            }
        }
    }

    /** Asks about each class when it comes: the build tool deals them out one by one. */
    private static final class Chosen implements Iterator<Object> {
        private final Iterator<?> all;
        private Object next;

        Chosen(Iterator<?> all) {
            this.all = all;
        }

        @Override
        public boolean hasNext() {
            while (next == null && all.hasNext()) {
                Object each = all.next();
                if (!(each instanceof Class) || leftOut(Set.of(each)).isEmpty()) {
                    next = each;
                }
            }
            return next != null;
        }

        @Override
        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Object found = next;
            next = null;
            return found;
        }
    }
}
