package java.lang;

/**
 * Errors inside of the runtime, mostly that the heap or the stack is used up. The program under test does not get to see
 * them: what could not be recorded is counted, and told when the next test starts.
 */
final class UntetherFaults {
    private static Class<?> type;
    private static int count;

    private UntetherFaults() {}

    /** Must not need memory. */
    static void caught(Throwable fault) {
        type = fault.getClass();
        count++;
    }

    /** Call without the lock. */
    static void tell() {
        int told = count;
        if (told != 0) {
            count = 0;
            try {
                UntetherTrace.note("fault", told + " accesses were not recorded: " + type.getName());
            } catch (OutOfMemoryError full) {
                // Another time.
                count = told;
            }
        }
    }
}
