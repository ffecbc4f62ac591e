package org.junit.runner.notification;

import org.junit.runner.Description;

/** Stands in for JUnit 4's class of this name while the worker is compiled; not part of any jar. */
public abstract class Failure {
    public abstract Description getDescription();

    public abstract Throwable getException();
}
