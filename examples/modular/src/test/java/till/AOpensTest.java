package till;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AOpensTest {
    @Test
    void opensTheTill() {
        Till.open();
        assertEquals("sold tea", Till.sell("tea"));
    }
}
