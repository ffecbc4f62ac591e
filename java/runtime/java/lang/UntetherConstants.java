package java.lang;

/**
 * Numbers that the agent writes into this class's bytes before it defines it: the earliest callers run
 * before native methods can be bound.
 */
final class UntetherConstants {
    private UntetherConstants() {}

    /** The address of zeroed memory that lives as long as the process. */
    static long tables() {
        return 0x756E746574686572L;
    }

    /** The position of the identity hash in an object's header. */
    static int hashShift() {
        return 0x68617368;
    }
}
