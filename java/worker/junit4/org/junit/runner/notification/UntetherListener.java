package org.junit.runner.notification;

import java.util.function.BiConsumer;
import org.junit.runner.Description;

/** Hands JUnit 4's events on. Defined beside JUnit's own class when a worker needs it. */
public final class UntetherListener extends RunListener {
    /** What happened, then class, method (or null) and, for failures, the exception. */
    private final BiConsumer<String, Object[]> events;

    public UntetherListener(BiConsumer<String, Object[]> events) {
        this.events = events;
    }

    private void tell(String event, Description description, Throwable thrown) {
        events.accept(event, new Object[] {description.getClassName(), description.getMethodName(), thrown});
    }

    @Override
    public void testStarted(Description description) {
        tell("started", description, null);
    }

    @Override
    public void testFinished(Description description) {
        tell("finished", description, null);
    }

    @Override
    public void testFailure(Failure failure) {
        tell("failed", failure.getDescription(), failure.getException());
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
        tell("aborted", failure.getDescription(), failure.getException());
    }

    @Override
    public void testIgnored(Description description) {
        tell("skipped", description, null);
    }
}
