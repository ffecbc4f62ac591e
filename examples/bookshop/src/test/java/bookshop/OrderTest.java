package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

class OrderTest {
    private final Order order = new Order(7, List.of(Samples.EMMA, Samples.PERSUASION));

    @Test
    void theNextOrderGetsTheNextNumber() {
        assertEquals(1002, Order.place(List.of(Samples.EMMA)).number());
    }

    @Test
    void theReceiptListsEveryBook() {
        String receipt = order.receipt();
        assertTrue(receipt.startsWith("Order 7\n"), receipt);
        assertTrue(receipt.contains("Emma"), receipt);
        assertTrue(receipt.contains("Persuasion"), receipt);
    }

    @Test
    void britishReceiptsHaveADecimalPoint() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.UK);
        try {
            assertTrue(order.receipt().contains("12.50"));
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void turkishReceiptsHaveADecimalComma() {
        Locale.setDefault(Locale.forLanguageTag("tr-TR"));
        assertTrue(order.receipt().contains("12,50"));
    }
}
