package untether;

import java.util.List;

/** Has a test framework run tests; {@link Worker} chooses it by the class, or by the unique id. */
interface Runner {
    /**
     * Runs lines of the plan that form one class run, in their order, and tells what becomes of them.
     *
     * @param type the class of the first line; null where a unique id says what is meant
     */
    void run(Class<?> type, List<String> lines) throws Throwable;
}
