package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.StringReader;
import java.math.BigDecimal;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ExchangeRatesTest {
    @Test
    void loadsThePublishedRates() throws IOException {
        assertEquals(2, ExchangeRates.load(new StringReader("USD=1.10\nGBP = 0.85")));
        assertEquals(new BigDecimal("0.85"), ExchangeRates.of("GBP"));
    }

    @Test
    void parsesOneRate() {
        assertEquals(Map.entry("JPY", new BigDecimal("160")), ExchangeRates.parse("JPY=160"));
    }

    @Test
    void rejectsALineThatIsNoRate() {
        assertThrows(IllegalArgumentException.class, () -> ExchangeRates.parse("closed today"));
    }
}
