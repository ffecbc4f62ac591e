package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StockListTest {
    private final Catalogue catalogue = new Catalogue();

    @BeforeEach
    void fillTheShelves() {
        catalogue.add(Samples.EMMA, 3);
        catalogue.add(Samples.SONNETS, 1);
    }

    @Test
    void theStockListCanBeReadByPeople() {
        assertEquals("Emma by Jane Austen\nShakespeare, the Sonnets by Shakespeare", catalogue.export("text"));
    }

    @Test
    void theStockListCanBeReadByASpreadsheet() {
        assertEquals("978-1,Emma,10.00\n978-3,\"Shakespeare, the Sonnets\",8.00", catalogue.export("csv"));
    }

    @Test
    void aShippedOrderLeavesTheStock() {
        catalogue.ship(Order.place(List.of(Samples.EMMA)));
        assertEquals(2, catalogue.copiesOf(Samples.EMMA));
    }

    @Test
    void poetryStandsOnItsOwnShelf() {
        assertEquals(List.of(Samples.SONNETS), catalogue.byCategory("verse"));
    }
}
