package till;

/** The one till of the shop. */
public final class Till {
    private static boolean isOpen;

    private Till() {}

    public static void open() {
        isOpen = true;
    }

    public static String sell(String article) {
        if (!isOpen) {
            throw new IllegalStateException("the till is closed");
        }
        return "sold " + article;
    }
}
