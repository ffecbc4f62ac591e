package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CatalogueTest {
    private final Catalogue catalogue = new Catalogue();

    @BeforeEach
    void fillTheShelves() {
        catalogue.add(Samples.EMMA, 3);
        catalogue.add(Samples.SONNETS, 1);
    }

    @Test
    void findsBooksByIsbn() {
        assertEquals(Samples.EMMA, catalogue.byIsbn("978-1").orElseThrow());
        assertTrue(catalogue.byIsbn("978-9").isEmpty());
    }

    @Test
    void findsBooksByAuthor() {
        assertEquals(List.of(Samples.EMMA), catalogue.byAuthor("Jane Austen"));
    }

    @Test
    void findsBooksByCategoryInAnyCase() {
        assertEquals(List.of(Samples.EMMA), catalogue.byCategory("FICTION"));
        assertEquals(List.of(Samples.EMMA), catalogue.byCategory("fiction"));
    }

    @Test
    void rejectsABookThatIsAlreadyThere() {
        assertThrows(IllegalArgumentException.class, () -> catalogue.add(Samples.EMMA, 1));
    }
}
