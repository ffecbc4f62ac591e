package org.apache.maven.surefire.api.util;

import java.util.Iterator;
import java.util.Set;

/** By its name and constructor, what Surefire's providers take test classes from. */
public final class TestsToRun implements Iterable<Class<?>> {
    private final Set<Class<?>> classes;

    public TestsToRun(Set<Class<?>> classes) {
        this.classes = classes;
    }

    @Override
    public Iterator<Class<?>> iterator() {
        return classes.iterator();
    }
}
