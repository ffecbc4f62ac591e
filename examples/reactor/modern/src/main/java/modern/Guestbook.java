package modern;

import java.util.ArrayList;
import java.util.List;
import legacy.Visits;

/** Remembers the names of the visitors, numbered in the order of their visits. */
public final class Guestbook {
    private static final List<String> ENTRIES = new ArrayList<>();

    private Guestbook() {}

    public static void sign(String name) {
        ENTRIES.add(Visits.next() + " " + name);
    }

    public static int size() {
        return ENTRIES.size();
    }

    /** A greeting that does not look at the book. */
    public static String greeting(String name) {
        return "Welcome, " + name;
    }
}
