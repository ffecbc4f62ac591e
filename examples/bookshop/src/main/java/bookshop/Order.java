package bookshop;

import java.util.List;

/** A purchase with its number, as it appears on the receipt. */
public final class Order {
    private static int lastNumber = 1000;

    private final int number;
    private final List<Book> books;

    Order(int number, List<Book> books) {
        this.number = number;
        this.books = List.copyOf(books);
    }

    public static Order place(List<Book> books) {
        return new Order(++lastNumber, books);
    }

    public int number() {
        return number;
    }

    public List<Book> books() {
        return books;
    }

    /** The receipt, with prices written the way they are where the customer lives. */
    public String receipt() {
        StringBuilder receipt = new StringBuilder("Order " + number + "\n");
        for (Book book : books) {
            receipt.append(String.format("%-30s %8.2f%n", book.title(), book.price()));
        }
        return receipt.toString();
    }
}
