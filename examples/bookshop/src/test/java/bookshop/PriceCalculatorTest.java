package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PriceCalculatorTest {
    private final PriceCalculator prices = new PriceCalculator();
    private int vatBefore;

    @BeforeEach
    void rememberTheTax() {
        vatBefore = Settings.instance().vatPercent();
    }

    @AfterEach
    void putTheTaxBack() {
        Settings.instance().setVatPercent(vatBefore);
    }

    @Test
    void booksAreTaxedAtTheReducedRate() {
        assertEquals(new BigDecimal("10.70"), prices.gross(Samples.EMMA));
    }

    @Test
    void labelsFollowAChangeOfTheTax() {
        Settings.instance().setVatPercent(50);
        assertEquals(new BigDecimal("15.00"), prices.gross(Samples.EMMA));
    }

    @Test
    void labelsAreRoundedToTheCent() {
        Book pamphlet = new Book("978-4", "A Modest Proposal", "Jonathan Swift", "Essay", "0.99");
        Settings.instance().setVatPercent(5);
        assertEquals(2, prices.gross(pamphlet).scale());
    }

    @Test
    void convertsPricesIntoDollars() {
        assertEquals(new BigDecimal("11.00"), prices.listPriceIn("USD", Samples.EMMA));
    }
}
