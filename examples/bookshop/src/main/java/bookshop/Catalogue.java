package bookshop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The books on offer and how many of each are in stock. */
public final class Catalogue {
    private final Map<String, Book> books = new LinkedHashMap<>();
    private final Map<String, Integer> stock = new LinkedHashMap<>();

    public void add(Book book, int copies) {
        if (books.putIfAbsent(book.isbn(), book) != null) {
            throw new IllegalArgumentException("already in the catalogue: " + book.isbn());
        }
        stock.put(book.isbn(), copies);
    }

    public Optional<Book> byIsbn(String isbn) {
        return Optional.ofNullable(books.get(isbn));
    }

    public List<Book> byAuthor(String author) {
        return select(book -> book.author().equals(author));
    }

    public List<Book> byCategory(String category) {
        String wanted = category.toLowerCase();
        return select(book -> book.category().toLowerCase().equals(wanted));
    }

    public int copiesOf(Book book) {
        return stock.getOrDefault(book.isbn(), 0);
    }

    /** Takes the books of an order off the shelf. */
    public void ship(Order order) {
        for (Book book : order.books()) {
            stock.merge(book.isbn(), -1, Integer::sum);
        }
    }

    public String export(String format) {
        return Exporters.named(format).export(List.copyOf(books.values()));
    }

    private List<Book> select(Predicate<Book> wanted) {
        return books.values().stream().filter(wanted).collect(Collectors.toList());
    }
}
