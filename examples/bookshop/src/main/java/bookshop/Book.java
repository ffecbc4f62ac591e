package bookshop;

import java.math.BigDecimal;

/** One title that the shop sells. Prices are in euros, before tax. */
public final class Book {
    private final String isbn;
    private final String title;
    private final String author;
    private final String category;
    private final BigDecimal price;

    public Book(String isbn, String title, String author, String category, String price) {
        this.isbn = isbn;
        this.title = title;
        this.author = author;
        this.category = category;
        this.price = new BigDecimal(price);
    }

    public String isbn() {
        return isbn;
    }

    public String title() {
        return title;
    }

    public String author() {
        return author;
    }

    public String category() {
        return category;
    }

    public BigDecimal price() {
        return price;
    }
}
