package small;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.maven.surefire.api.util.TestsToRun;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Stands for a build tool's test JVM: {@code Build FOLDER...} runs the test classes of folders, and notes which began and which
 * ended, in the folder that the environment names.
 */
public final class Build implements TestExecutionListener {
    private boolean hasFailed;

    public static void main(String[] folders) throws Exception {
        Set<Class<?>> found = new LinkedHashSet<>();
        for (String folder : folders) {
            for (String name : names(Path.of(folder))) {
                found.add(Class.forName(name, false, Build.class.getClassLoader()));
            }
        }
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (Class<?> test : new TestsToRun(found)) {
            selectors.add(DiscoverySelectors.selectClass(test));
        }
        Build listener = new Build();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request().selectors(selectors).build(), listener);
        System.exit(listener.hasFailed ? 1 : 0);
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.map(file -> folder.relativize(file).toString())
                    .filter(name -> name.endsWith("Test.class"))
                    .map(name -> name.replace(".class", "").replace('/', '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        note(test, "ran");
    }

    private static void note(TestIdentifier test, String file) {
        test.getSource().filter(ClassSource.class::isInstance).map(ClassSource.class::cast).ifPresent(source -> {
            byte[] line = (source.getClassName() + "\n").getBytes();
            Path path = Path.of(System.getenv("SMALL_NOTES"), file);
            try {
                Files.write(path, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        });
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        note(test, "ended");
        hasFailed |= result.getStatus() == TestExecutionResult.Status.FAILED;
    }
}
