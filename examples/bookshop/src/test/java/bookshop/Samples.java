package bookshop;

/** Books that the tests sell. Immutable, so they can be shared. */
final class Samples {
    static final Book EMMA = new Book("978-1", "Emma", "Jane Austen", "Fiction", "10.00");
    static final Book PERSUASION = new Book("978-2", "Persuasion", "Jane Austen", "Fiction", "12.50");
    static final Book SONNETS = new Book("978-3", "Shakespeare, the Sonnets", "Shakespeare", "Verse", "8.00");

    private Samples() {}
}
