package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class SettingsTest {
    private final Settings settings = Settings.instance();

    @Test
    void theShopCanBeRenamed() {
        String before = settings.shopName();
        try {
            settings.setShopName("Books & Co.");
            assertEquals("Books & Co.", settings.shopName());
        } finally {
            settings.setShopName(before);
        }
    }

    @Test
    void theTaxCanBeChanged() {
        settings.setVatPercent(20);
        assertEquals(20, settings.vatPercent());
    }

    @Test
    void theTaxCannotBeNegative() {
        assertThrows(IllegalArgumentException.class, () -> settings.setVatPercent(-1));
    }

    @Test
    void thePromotionIsASystemProperty() {
        System.setProperty("bookshop.promotion", "10");
        assertEquals(10, Settings.promotionPercent());
    }
}
