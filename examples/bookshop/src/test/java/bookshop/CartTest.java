package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;

class CartTest {
    private final Cart cart = new Cart();

    @Test
    void anEmptyCartCostsNothing() {
        assertEquals(BigDecimal.ZERO, cart.total());
    }

    @Test
    void totalAddsUpThePrices() {
        cart.add(Samples.EMMA).add(Samples.PERSUASION);
        assertEquals(new BigDecimal("22.50"), cart.total());
    }

    @Test
    void removingABookLowersTheTotal() {
        cart.add(Samples.EMMA).add(Samples.PERSUASION);
        BigDecimal before = cart.total();
        cart.remove(Samples.EMMA);
        assertTrue(cart.total().compareTo(before) < 0);
    }

    @Test
    void checkingOutPlacesAnOrder() {
        Order order = cart.add(Samples.EMMA).checkOut();
        assertEquals(1001, order.number());
        assertEquals(List.of(Samples.EMMA), order.books());
    }

    @Test
    void anEmptyCartCannotBeCheckedOut() {
        assertThrows(IllegalStateException.class, cart::checkOut);
    }
}
