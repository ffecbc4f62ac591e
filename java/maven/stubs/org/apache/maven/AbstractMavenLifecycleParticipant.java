package org.apache.maven;

import org.apache.maven.execution.MavenSession;

/** Stands in for Maven's class at compile time. */
public abstract class AbstractMavenLifecycleParticipant {
    public void afterProjectsRead(MavenSession session) throws Exception {}
}
