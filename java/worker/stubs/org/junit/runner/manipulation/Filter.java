package org.junit.runner.manipulation;

import org.junit.runner.Description;

/** Stands in for JUnit 4's class of this name while the worker is compiled; not part of any jar. */
public abstract class Filter {
    public abstract boolean shouldRun(Description description);

    public abstract String describe();
}
