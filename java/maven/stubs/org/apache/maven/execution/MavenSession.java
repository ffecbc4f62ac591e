package org.apache.maven.execution;

/** Stands in for Maven's class at compile time. */
public class MavenSession {}
