package bookshop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

/** What a customer has picked so far. */
public final class Cart {
    private final List<Book> books = new ArrayList<>();
    private final PriceCalculator prices = new PriceCalculator();

    public Cart add(Book book) {
        books.add(book);
        return this;
    }

    public void remove(Book book) {
        books.remove(book);
    }

    public BigDecimal total() {
        return books.stream().map(prices::net).reduce(BigDecimal.ZERO, BigDecimal::add);
    }

    public Order checkOut() {
        if (books.isEmpty()) {
            throw new IllegalStateException("the cart is empty");
        }
        return Order.place(books);
    }
}
