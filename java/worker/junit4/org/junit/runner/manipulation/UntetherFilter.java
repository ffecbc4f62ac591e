package org.junit.runner.manipulation;

import java.util.function.Predicate;
import org.junit.runner.Description;

/** Lets through the methods of a class run. Defined beside JUnit's own class when a worker needs it. */
public final class UntetherFilter extends Filter {
    private final Predicate<String> methods;

    public UntetherFilter(Predicate<String> methods) {
        this.methods = methods;
    }

    @Override
    public boolean shouldRun(Description description) {
        if (description.isTest()) {
            String method = description.getMethodName();
            return method == null || methods.test(method);
        }
        for (Description child : description.getChildren()) {
            if (shouldRun(child)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String describe() {
        return "the methods of a class run";
    }
}
