import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Links every class of the running JDK without initialising it. Started with the agent and with
 * verification of all classes switched on, it shows that woven classes are valid.
 */
public final class LinkEverything {
    public static void main(String[] arguments) throws Exception {
        List<String> names = new ArrayList<>();
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        try (Stream<Path> files = Files.walk(modules)) {
            files.map(Path::toString)
                    .filter(path -> path.endsWith(".class") && !path.endsWith("-info.class"))
                    .forEach(path -> {
                        String inModule = path.substring(path.indexOf('/', "/modules/".length()) + 1);
                        names.add(inModule.substring(0, inModule.length() - 6).replace('/', '.'));
                    });
        }
        int linked = 0;
        int missing = 0;
        List<String> broken = new ArrayList<>();
        for (String name : names) {
            try {
                // Looking at the methods links the class.
                Class.forName(name, false, ClassLoader.getSystemClassLoader()).getDeclaredMethods();
                linked++;
            } catch (VerifyError | ClassFormatError | IncompatibleClassChangeError error) {
                broken.add(name + ": " + error);
            } catch (LinkageError | ClassNotFoundException unavailable) {
                missing++;
            }
        }
        System.out.println("linked=" + linked + " missing=" + missing + " broken=" + broken.size());
        broken.forEach(System.out::println);
        System.exit(broken.isEmpty() ? 0 : 1);
    }
}
