package legacy;

/** Counts visitors since the program started. */
public final class Visits {
    private static int count;

    private Visits() {}

    public static int next() {
        return ++count;
    }
}
