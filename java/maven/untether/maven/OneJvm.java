package untether.maven;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Properties;
import org.apache.maven.AbstractMavenLifecycleParticipant;
import org.apache.maven.execution.MavenSession;

/**
 * An extension of Maven for builds whose test classes are isolated by untether: where a project asks for a JVM for each class
 * ({@code reuseForks=false}, {@code forkMode=always}), one takes them all. Maven is reached by reflection: only the class
 * that it looks for is linked.
 */
public final class OneJvm extends AbstractMavenLifecycleParticipant {
    private static final String REUSE = "reuseForks";

    @Override
    public void afterProjectsRead(MavenSession session) throws Exception {
        reuse((Properties) call(session, "getUserProperties"));
        for (Object project : (List<?>) call(session, "getProjects")) {
            reuse((Properties) call(project, "getProperties"));
            for (Object plugin : (List<?>) call(project, "getBuildPlugins")) {
                String name = (String) call(plugin, "getArtifactId");
                if (name.equals("maven-surefire-plugin") || name.equals("maven-failsafe-plugin")) {
                    configure(call(plugin, "getConfiguration"));
                    for (Object execution : (List<?>) call(plugin, "getExecutions")) {
                        configure(call(execution, "getConfiguration"));
                    }
                }
            }
        }
    }

    private static void reuse(Properties properties) {
        if ("false".equals(properties.getProperty(REUSE))) {
            properties.setProperty(REUSE, "true");
        }
    }

    private static void configure(Object configuration) throws ReflectiveOperationException {
        if (configuration == null) {
            return;
        }
        set(configuration, REUSE, "false", "true");
        set(configuration, "forkMode", "always", "once");
        set(configuration, "forkMode", "pertest", "once");
    }

    private static void set(Object configuration, String name, String from, String to) throws ReflectiveOperationException {
        Object child = configuration.getClass().getMethod("getChild", String.class).invoke(configuration, name);
        if (child != null && from.equalsIgnoreCase((String) call(child, "getValue"))) {
            child.getClass().getMethod("setValue", String.class).invoke(child, to);
        }
    }

    private static Object call(Object object, String name) throws ReflectiveOperationException {
        Method method = object.getClass().getMethod(name);
        return method.invoke(object);
    }
}
