package bookshop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The formats in which a list of books can be written. Plug-ins register more of them. */
public final class Exporters {
    /** Writes a list of books in one format. */
    @FunctionalInterface
    public interface Exporter {
        String export(List<Book> books);
    }

    private static final Map<String, Exporter> EXPORTERS = new LinkedHashMap<>();

    static {
        register("text", Exporters::text);
    }

    private Exporters() {}

    public static void register(String format, Exporter exporter) {
        EXPORTERS.put(format, exporter);
    }

    public static Exporter named(String format) {
        Exporter exporter = EXPORTERS.get(format);
        if (exporter == null) {
            throw new IllegalArgumentException("no exporter for " + format + ", only for " + EXPORTERS.keySet());
        }
        return exporter;
    }

    /** The exporter of the CSV plug-in. */
    public static String csv(List<Book> books) {
        return books.stream()
                .map(book -> book.isbn() + "," + quoted(book.title()) + "," + book.price())
                .collect(Collectors.joining("\n"));
    }

    private static String text(List<Book> books) {
        return books.stream()
                .map(book -> book.title() + " by " + book.author())
                .collect(Collectors.joining("\n"));
    }

    private static String quoted(String text) {
        return text.contains(",") ? '"' + text + '"' : text;
    }
}
