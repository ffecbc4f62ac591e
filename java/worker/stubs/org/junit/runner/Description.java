package org.junit.runner;

import java.util.ArrayList;

/** Stands in for JUnit 4's class of this name while the worker is compiled; not part of any jar. */
public abstract class Description {
    public abstract boolean isTest();

    public abstract String getMethodName();

    public abstract String getClassName();

    public abstract ArrayList<Description> getChildren();
}
